"""Element-wise arithmetic and logic that `compiler.te` does not have."""

from __future__ import annotations

from enum import Enum
from functools import reduce

from tandem.compiler import te
from tandem.compiler.errors import IRError
from tandem.compiler.ir.dtypes import BOOL, FLOAT64, UINT8, DType, Kind
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators import stored_floats
from tandem.compiler.operators.broadcast import ANY, FLOATS, INTEGERS, NUMBERS, elementwise


@elementwise(*NUMBERS)
def divide(a: Expr, b: Expr) -> Expr:
    """a / b; integer quotients are rounded towards zero, and 0 where b is 0."""
    return a / b if a.dtype.is_float else truncated_quotient(a, b)


def truncated_quotient(a: Expr, b: Expr) -> Expr:
    """The quotient of integers, rounded towards zero."""
    if a.dtype.kind is Kind.UINT:
        return a // b
    down = te.all_of(te.not_equal(a % b, 0), (a ^ b) < 0)
    return te.select(down, a // b + 1, a // b)


@elementwise(*NUMBERS)
def modulo(a: Expr, b: Expr, *, fmod: int = 0) -> Expr:
    """The remainder of a / b, with the sign of b, or with the sign of a if `fmod` is 1.

    Floats have to be float32: the remainder with the sign of a is exact if |a / b| is under 2**28.
    Modulo 0 is 0 for integers and NaN for floats.
    """
    if fmod not in (0, 1):
        raise IRError(f"fmod is 0 or 1, not {fmod!r}")
    if not a.dtype.is_float:
        return a - truncated_quotient(a, b) * b if fmod else a % b
    if a.dtype.bits != 32:
        raise IRError("of floats only float32 is defined: its quotients are exact in float64")
    x, y = te.cast(a, FLOAT64), te.cast(b, FLOAT64)
    quotient = x / y
    whole = te.select(quotient < 0, te.ceil(quotient), te.floor(quotient))
    left = te.cast(x - whole * y, a.dtype)
    endless = te.all_of(te.equal(te.abs(b), float("inf")), te.abs(a) < float("inf"))
    # A remainder of 0 also has the sign of a.
    truncated = te.select(endless, a, te.select(te.equal(left, 0.0), a * 0.0, left))
    if fmod:
        return truncated
    # As in Python: a remainder whose sign is not that of b is moved by b; 0 has the sign of b.
    moved = te.all_of(te.not_equal(truncated, 0.0), te.not_equal(truncated < 0.0, b < 0.0))
    zero = te.all_of(te.equal(truncated, 0.0), te.not_equal(b, 0.0))
    signed = te.select(b < 0.0, te.const(-0.0, a.dtype), te.const(0.0, a.dtype))
    return te.select(zero, signed, te.select(moved, truncated + b, truncated))


@elementwise(*NUMBERS)
def power(a: Expr, b: Expr) -> Expr:
    """a to the power b, in the type of a; b may have another type.

    Integers are computed in float64: exact up to 2**53.
    """
    dtype = a.dtype if a.dtype.is_float else FLOAT64
    return te.cast(te.power(te.cast(a, dtype), te.cast(b, dtype)), a.dtype)


@elementwise(*NUMBERS)
def minimum(*values: Expr) -> Expr:
    """The minimum of any number of tensors; NaN if an operand is NaN."""
    return reduce(te.minimum, values)


@elementwise(*NUMBERS)
def maximum(*values: Expr) -> Expr:
    """The maximum of any number of tensors; NaN if an operand is NaN."""
    return reduce(te.maximum, values)


@elementwise(*NUMBERS)
def total(*values: Expr) -> Expr:
    """The sum of any number of tensors."""
    return reduce(lambda a, b: a + b, values)


@elementwise(*FLOATS)
def mean(*values: Expr) -> Expr:
    """The mean of any number of tensors."""
    return total.scalar(*values) / float(len(values))


@elementwise(*NUMBERS)
def sign(x: Expr) -> Expr:
    """The sign of x: -1, 0 or 1; NaN if x is NaN."""
    # 0 and NaN are their own signs.
    other = x if x.dtype.kind is Kind.UINT else te.select(x < 0, te.const(-1, x.dtype), x)
    return te.select(x > 0, te.const(1, x.dtype), other)


@elementwise(*FLOATS)
def reciprocal(x: Expr) -> Expr:
    """1 / x."""
    return 1.0 / x


@elementwise(*FLOATS)
def log1p(x: Expr) -> Expr:
    """log(1 + x), accurate to a few units in the last place, for small x too.

    The rounding error of 1 + x is divided out: Kahan; Higham, Accuracy and Stability of
    Numerical Algorithms, section 1.14.1.
    """
    u = 1.0 + x
    corrected = te.log(u) * (x / (u - 1.0))
    return te.select(te.equal(u, 1.0), x, te.select(te.equal(u, x), te.log(u), corrected))


_LARGE = 1.0e8
"""From here on x * x + 1 equals x * x in float64; below, x * x does not overflow float32."""


@elementwise(*FLOATS)
def asinh(x: Expr) -> Expr:
    """The inverse hyperbolic sine."""
    size = te.abs(x)
    near = log1p.scalar(size + size * size / (1.0 + te.sqrt(size * size + 1.0)))
    result = te.select(size < _LARGE, near, te.log(size) + 0.6931471805599453)
    return te.select(x < 0.0, -result, result)


@elementwise(*FLOATS)
def acosh(x: Expr) -> Expr:
    """The inverse hyperbolic cosine; NaN under 1."""
    above = x - 1.0
    near = log1p.scalar(above + te.sqrt(above * above + 2.0 * above))
    return te.select(x < _LARGE, near, te.log(x) + 0.6931471805599453)


@elementwise(*FLOATS)
def atanh(x: Expr) -> Expr:
    """The inverse hyperbolic tangent; infinite at -1 and 1, NaN outside."""
    size = te.abs(x)
    result = 0.5 * log1p.scalar(2.0 * size / (1.0 - size))
    return te.select(x < 0.0, -result, result)


@elementwise(*NUMBERS)
def clip(x: Expr, *, min: float | None = None, max: float | None = None) -> Expr:
    """x clipped to `min`..`max`; the result is `max` if `max` is less than `min`."""
    if min is not None:
        x = te.maximum(x, min)
    return x if max is None else te.minimum(x, max)


@elementwise(*ANY)
def identity(x: Expr) -> Expr:
    """x unchanged."""
    return x


@elementwise(*ANY)
def stop_gradient(x: Expr) -> Expr:
    """x unchanged, which counts as a constant in gradients."""
    return x


@elementwise(*ANY)
def cast(x: Expr, *, to: DType) -> Expr:
    """x converted to type `to`: see `stored_floats.cast` and `compiler.ir.expr.Cast`."""
    return stored_floats.cast(x, to)


@elementwise(*ANY)
def bit_cast(x: Expr, *, to: DType) -> Expr:
    """The value of type `to` with the bits of x; a bool is a byte of 0 or 1."""
    if BOOL in (x.dtype, to):
        byte = te.reinterpret(te.cast(x, UINT8) if x.dtype == BOOL else x, UINT8)
        return te.cast(byte, BOOL) if to == BOOL else te.reinterpret(byte, to)
    return te.reinterpret(x, to)


class Direction(Enum):
    """The direction of a shift."""

    LEFT = "LEFT"
    RIGHT = "RIGHT"


@elementwise(*INTEGERS)
def bit_shift(a: Expr, b: Expr, *, direction: Direction) -> Expr:
    """a shifted by b bits, as many as the type has if b is negative or more than that.

    A shift to the right fills with the sign of a signed integer.
    """
    return a << b if direction is Direction.LEFT else a >> b


@elementwise(*FLOATS)
def is_nan(x: Expr) -> Expr:
    """Whether x is NaN."""
    return te.not_equal(x, x)


@elementwise(*FLOATS)
def is_inf(x: Expr, *, detect_negative: int = 1, detect_positive: int = 1) -> Expr:
    """Whether x is infinite and has a selected sign."""
    negative = [te.equal(x, float("-inf"))] if detect_negative else []
    positive = [te.equal(x, float("inf"))] if detect_positive else []
    return te.any_of(*negative, *positive)


@elementwise(*ANY)
def where(condition: Expr, a: Expr, b: Expr) -> Expr:
    """a where `condition`, a bool, is true, else b."""
    if condition.dtype != BOOL:
        raise IRError(f"the condition is {condition.dtype}, not bool")
    return te.select(condition, a, b)
