"""float16 and bfloat16, in which floats are stored, to and from float32: exact, and rounded once.

Integer arithmetic on bits, so that every processor computes the same.
"""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, UINT16, UINT32, DType
from tandem.compiler.ir.expr import Expr

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


def _widened(value: Expr) -> Expr:
    """A stored float as a float32."""
    bits = te.cast(te.reinterpret(value, UINT16), UINT32)
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
    found = _bfloat16(size) if dtype == BFLOAT16 else _float16(size)
    return te.reinterpret(te.cast(found | (sign >> 16), UINT16), dtype)


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
