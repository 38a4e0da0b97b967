"""Constants of fewer than 8 bits, several elements in a byte: the earlier ones in lower bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler import te
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import UINT8, DType, Kind
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.te import Tensor, compute, placeholder

_BYTE = UINT8.bits
_LEAST_ELEMENTS = 64
"""Smaller constants stay as they are."""


@dataclass(frozen=True, slots=True)
class NarrowConstant:
    """A constant parameter of a kernel, whose elements are packed into bytes.

    Attributes
    ----------
    packing
        The bytes, computed from a placeholder of the parameter.
    packed
        The bytes as an input of the kernel.
    elements
        The parameter's elements, computed from `packed`.
    """

    packing: Tensor
    packed: Tensor
    elements: Tensor


def is_narrow(type_: object) -> bool:
    """Whether constants of a type are packed."""
    return (
        isinstance(type_, TensorType)
        and type_.dtype.is_narrow
        and isinstance(type_.size, int)
        and type_.size >= _LEAST_ELEMENTS
    )


def narrow_constant(parameter: Tensor) -> NarrowConstant:
    """A parameter of a type of 2 or 4 bits, packed."""
    shape, size, bits = parameter.shape, parameter.size, parameter.dtype.bits
    parts = _BYTE // bits

    def byte(at: Expr) -> Expr:
        found: Expr = te.const(0, UINT8)
        for part in range(parts):
            number = at * parts + part
            element = parameter[_indices(number, shape)]
            found = found | te.select(number < size, _bits(element), 0) << part * bits
        return found

    name = f"{parameter.name}_packed"
    packing = compute((-(-size // parts),), byte, name, ["byte"])
    packed = placeholder(packing.shape, UINT8, name)

    def element(*indices: Expr) -> Expr:
        at = _number(indices, shape)
        shift = te.cast(at % parts, UINT8) * bits
        return _element(packed[at // parts] >> shift, parameter.dtype)

    return NarrowConstant(packing, packed, compute(shape, element, parameter.name))


def _number(indices: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """The number of an element in row-major order."""
    found: Expr = index(0)
    for at, extent in zip(indices, shape, strict=True):
        found = found * extent + at
    return found


def _indices(number: Expr, shape: Sequence[int]) -> tuple[Expr, ...]:
    """The indices of an element, from its number."""
    found: list[Expr] = []
    for extent in reversed(shape):
        found.append(number % extent)
        number = number // extent
    return tuple(reversed(found))


def _bits(element: Expr) -> Expr:
    """The bits of an element in a byte whose others are 0."""
    holder = DType(Kind.UINT, element.dtype.bits)
    stored = te.reinterpret(element, holder) if element.dtype.is_stored_float else element
    return te.cast(te.cast(stored, holder), UINT8)


def _element(byte: Expr, dtype: DType) -> Expr:
    """The element whose bits are the low bits of a byte."""
    bits = te.cast(byte, DType(Kind.UINT, dtype.bits))
    return te.reinterpret(bits, dtype) if dtype.is_stored_float else te.cast(bits, dtype)
