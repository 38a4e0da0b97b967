"""Operators into the accelerator's layouts and out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.graph.attributes import NOTHING, Attributes
from compiler.graph.extents import Dim
from compiler.graph.opspec import AnyOp, Ask, Operands, OpSpec, Pattern, keywords
from compiler.graph.types import TensorType
from compiler.operators import blocks as layouts
from compiler.te import Tensor

__all__ = ["SPECS", "PackData", "PackWindows", "UnpackData"]


@dataclass(frozen=True, slots=True)
class PackData(Attributes):
    """Images and channels of a block."""

    batch: int
    block: int


@dataclass(frozen=True, slots=True)
class UnpackData(Attributes):
    """The shape that was packed."""

    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PackWindows(Attributes):
    """A convolution's windows, and images and channels of a block."""

    kernel: tuple[int, ...]
    batch: int
    block: int
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)


def _numbers_only(ask: Ask, _: Attributes) -> tuple[TensorType, ...]:
    """Blocks are made when every extent is known."""
    symbols = [each for each in ask.types[0].shape if isinstance(each, Dim)]
    ask.fail(f"{ask.show(0)} has the symbol {symbols[0]}: put numbers for symbols first")


def _spec(
    function: Callable[..., Tensor], attributes: type[Any], pattern: Pattern = Pattern.INJECTIVE
) -> AnyOp:
    def compute(name: str, tensors: Sequence[Tensor], given: Attributes) -> tuple[Tensor, ...]:
        return (function(*tensors, name=name, **keywords(given)),)

    operands = Operands(("data",))
    return OpSpec(function.__name__, pattern, operands, attributes, compute, _numbers_only)


SPECS: tuple[AnyOp, ...] = (
    _spec(layouts.pack_data, PackData),
    _spec(layouts.unpack_data, UnpackData),
    # Elements are read many times: what computes them must not be drawn in.
    _spec(layouts.pack_windows, PackWindows, Pattern.OUT_FUSABLE),
    _spec(layouts.byte_planes, type(NOTHING), Pattern.OUT_FUSABLE),
    _spec(layouts.join_planes, type(NOTHING)),
)
