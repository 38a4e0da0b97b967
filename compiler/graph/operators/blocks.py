"""Operators that convert to and from the accelerator's layouts."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.graph.attributes import Attributes
from compiler.graph.extents import Dim
from compiler.graph.opspec import DATA, AnyOp, Pattern, TypeQuery, define_operator
from compiler.graph.types import TensorType
from compiler.operators import blocks as layouts


@dataclass(frozen=True, slots=True)
class PackData(Attributes):
    """The numbers of images and channels in a block."""

    batch: int
    block: int


@dataclass(frozen=True, slots=True)
class PackWeight(Attributes):
    """The numbers of outputs and channels in a block."""

    lanes: int
    block: int


@dataclass(frozen=True, slots=True)
class UnpackData(Attributes):
    """The shape before packing."""

    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PackWindows(Attributes):
    """A convolution's windows, and the numbers of images and channels in a block."""

    kernel: tuple[int, ...]
    batch: int
    block: int
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)


def _static_only(query: TypeQuery, _: Attributes) -> tuple[TensorType, ...]:
    """Raises a `GraphError`: packing needs static extents."""
    symbols = [each for each in query.data.shape if isinstance(each, Dim)]
    query.fail(f"{query.show(0)} has the symbol {symbols[0]}: bind symbols first")


SPECS: tuple[AnyOp, ...] = tuple(
    define_operator(function, pattern, DATA, attributes, _static_only)
    for function, pattern, attributes in (
        (layouts.pack_data, Pattern.INJECTIVE, PackData),
        (layouts.pack_weight, Pattern.INJECTIVE, PackWeight),
        (layouts.unpack_data, Pattern.INJECTIVE, UnpackData),
        # Reads each element many times: its operand must not be fused into it.
        (layouts.pack_windows, Pattern.OUT_FUSABLE, PackWindows),
        (layouts.byte_planes, Pattern.OUT_FUSABLE, Attributes),
        (layouts.join_planes, Pattern.INJECTIVE, Attributes),
    )
)
