"""The formats in which floats are only stored, to and from float32: exact, and rounded once.

Integer arithmetic on bits, so that every processor computes the same.
"""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT4, FLOAT16, FLOAT32, UINT32, DType
from tandem.compiler.ir.expr import Expr, Reinterpret
from tandem.compiler.ir.visit import subexpressions

_SIGN = 0x80000000
_INFINITY = 0x7F800000
"""The bits of infinity in float32."""


def cast(value: Expr, dtype: DType) -> Expr:
    """`value` in another type, as `te.cast`; from and to stored floats by way of float32.

    A float is rounded once, to the nearest, ties to even; integers are rounded to float32 first.
    """
    if value.dtype == dtype:
        return value
    if value.dtype.is_stored_float:
        value = _widened(value)
    if not dtype.is_stored_float:
        return te.cast(value, dtype)
    single = _rounded_to_odd(value) if value.dtype.bits == 64 else te.cast(value, FLOAT32)
    return _narrowed(single, dtype)


def stored_operand(value: Expr) -> Expr | None:
    """What `value` is as a float32, by `cast`; None if it is something else."""
    if value.dtype != FLOAT32:
        return None
    for part in subexpressions(value):
        if isinstance(part, Reinterpret) and part.operand.dtype.is_stored_float:
            return part.operand if cast(part.operand, FLOAT32) == value else None
    return None


def rounded_operand(value: Expr) -> Expr | None:
    """The float32 that `value` is rounded from, by `cast`; None if it is something else."""
    if not value.dtype.is_stored_float:
        return None
    for part in subexpressions(value):
        if isinstance(part, Reinterpret) and part.operand.dtype == FLOAT32:
            if cast(part.operand, value.dtype) == value:
                return part.operand
    return None


def zero(dtype: DType) -> Expr:
    """A zero of any type of number."""
    if dtype.is_stored_float:
        return te.reinterpret(te.const(0, dtype.holder), dtype)
    return te.const(0.0 if dtype.is_float else 0, dtype)


def _widened(value: Expr) -> Expr:
    """A stored float as a float32."""
    bits = te.cast(te.reinterpret(value, value.dtype.holder), UINT32)
    if value.dtype == FLOAT4:
        return _widened_float4(bits)
    if value.dtype == BFLOAT16:
        return te.reinterpret(bits << 16, FLOAT32)
    assert value.dtype == FLOAT16
    sign, size = (bits & 0x8000) << 16, (bits & 0x7FFF) << 13
    # Exponents are biased by 15 there and by 127 here; the product normalises subnormal numbers.
    scaled = te.reinterpret(size, FLOAT32) * 2.0**112
    special = te.select(size < 0x7C00 << 13, te.reinterpret(scaled, UINT32), size | _INFINITY)
    return te.reinterpret(special | sign, FLOAT32)


def _narrowed(value: Expr, dtype: DType) -> Expr:
    """A float32 as a stored float, rounded to nearest, ties to even."""
    bits = te.reinterpret(value, UINT32)
    sign, size = bits & _SIGN, bits & (_SIGN - 1)
    if dtype == FLOAT4:
        found = _float4(value, te.reinterpret(size, FLOAT32), sign >> 28)
    else:
        found = (_bfloat16(size) if dtype == BFLOAT16 else _float16(size)) | (sign >> 16)
    return te.reinterpret(te.cast(found, dtype.holder), dtype)


def _bfloat16(size: Expr) -> Expr:
    """The bits of a magnitude given as the bits of a float32; a quiet NaN for NaN."""
    rounded = (size + ((size >> 16) & 1) + 0x7FFF) >> 16
    return te.select(size > _INFINITY, te.const(0x7FC0, UINT32), rounded)


def _float16(size: Expr) -> Expr:
    # 112 is the difference of the biases of exponents.
    rounded = (size - (112 << 23) + ((size >> 13) & 1) + 0x0FFF) >> 13
    # Under 2 ** -14 numbers are multiples of 2 ** -24, as are float32 numbers near 0.5.
    shifted = te.reinterpret(size, FLOAT32) + 0.5
    subnormal = te.reinterpret(shifted, UINT32) - 0x3F000000
    finite = te.select(size < 113 << 23, subnormal, rounded)
    # From 65520 on the nearest number is infinity.
    infinite = te.select(size > _INFINITY, te.const(0x7E00, UINT32), te.const(0x7C00, UINT32))
    return te.select(size < 0x477FF000, finite, infinite)


def _widened_float4(bits: Expr) -> Expr:
    sign, size = (bits & 0x8) << 28, bits & 0x7
    # Exponents are biased by 1 there and by 127 here; without one, the number is 0 or 0.5.
    small = te.reinterpret(te.cast(size, FLOAT32) * 0.5, UINT32)
    return te.reinterpret(te.select(size < 2, small, (size << 22) + (126 << 23)) | sign, FLOAT32)


def _float4(value: Expr, size: Expr, sign: Expr) -> Expr:
    """The bits of a number: 6 is the nearest to all that is larger, and -0 stands for NaN, as in
    ONNX."""
    limits = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
    found = te.const(0, UINT32)
    for number, limit in enumerate(limits):
        # A number between two is rounded to the one whose fraction is 0: up from odd codes.
        above = size >= limit if number % 2 else size > limit
        found = te.select(above, te.const(number + 1, UINT32), found)
    return te.select(te.equal(value, value), found | sign, te.const(0x8, UINT32))


def _rounded_to_odd(value: Expr) -> Expr:
    """A float64, or an integer of 64 bits, as a float32 whose last bit is set if it is not exact.

    Rounded again, to fewer bits, the result is that of a single rounding.
    """
    if not value.dtype.is_float:
        return te.cast(value, FLOAT32)
    single = te.cast(value, FLOAT32)
    bits = te.reinterpret(single, UINT32)
    back = te.cast(single, value.dtype)
    even = te.equal(bits & 1, te.const(0, UINT32))
    inexact = te.all_of(te.equal(value, value), te.not_equal(back, value), even)
    odd = te.select(te.abs(back) < te.abs(value), bits + 1, bits - 1)
    return te.reinterpret(te.select(inexact, odd, bits), FLOAT32)
