"""Interval arithmetic of unbounded integers: the results of an operation on operands in intervals.

The caller accounts for overflow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tandem.compiler.ir.arithmetic import binary_function
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.operations import BinaryOp, UnaryOp


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from `low` to `high`, both included. None is no bound on that side.

    The interval is empty if `low` is above `high`.
    """

    low: int | None
    high: int | None

    @property
    def empty(self) -> bool:
        """Whether the interval holds no integer."""
        return self.low is not None and self.high is not None and self.low > self.high

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Both bounds, or None if one is missing."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def only(self) -> int | None:
        """The only integer in the interval, or None if there is not exactly one."""
        return self.low if self.low == self.high else None

    def __contains__(self, value: int) -> bool:
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)

    def __add__(self, other: Interval) -> Interval:
        if self.empty or other.empty:
            return EMPTY
        return Interval(
            None if self.low is None or other.low is None else self.low + other.low,
            None if self.high is None or other.high is None else self.high + other.high,
        )

    def times(self, factor: int) -> Interval:
        """The interval multiplied by a factor."""
        if self.empty or factor == 0:
            return EMPTY if self.empty else Interval(0, 0)
        low = None if self.low is None else self.low * factor
        high = None if self.high is None else self.high * factor
        return Interval(low, high) if factor > 0 else Interval(high, low)

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that contains both."""
        if self.empty or other.empty:
            return other if self.empty else self
        return Interval(
            None if self.low is None or other.low is None else min(self.low, other.low),
            None if self.high is None or other.high is None else max(self.high, other.high),
        )

    def meet(self, other: Interval) -> Interval:
        """The intersection of both."""
        lows = [each.low for each in (self, other) if each.low is not None]
        highs = [each.high for each in (self, other) if each.high is not None]
        return Interval(max(lows, default=None), min(highs, default=None))


EMPTY = Interval(0, -1)
ANY = Interval(None, None)
BIT = Interval(0, 1)
_NO, _YES = Interval(0, 0), Interval(1, 1)


def unary_interval(op: UnaryOp, a: Interval, top: int) -> Interval:
    """The interval of `op`. NOT of a is `top - a`: `top` is -1, or the greatest value of a bool or
    an unsigned type."""
    match op:
        case UnaryOp.NEG:
            return a.times(-1)
        case UnaryOp.NOT:
            return a.times(-1) + Interval(top, top)
        case UnaryOp.ABS if a.empty:
            return a
        case UnaryOp.ABS:
            return _maximum(_maximum(a, a.times(-1)), _NO)
        case _:
            return ANY


def binary_interval(op: BinaryOp, a: Interval, b: Interval) -> Interval:
    """The interval of `op`; division by zero gives 0, and comparisons give 0 or 1."""
    if a.empty or b.empty:
        return EMPTY
    return _BINARY[op](a, b) if op in _BINARY else ANY


def _maximum(a: Interval, b: Interval) -> Interval:
    lows = [each.low for each in (a, b) if each.low is not None]
    high = None if a.high is None or b.high is None else max(a.high, b.high)
    return Interval(max(lows, default=None), high)


def _multiplied(a: Interval, b: Interval) -> Interval:
    if a.only is not None:
        return b.times(a.only)
    if b.only is not None:
        return a.times(b.only)
    ends, others = a.bounds, b.bounds
    if ends is not None and others is not None:
        products = [x * y for x in ends for y in others]
        return Interval(min(products), max(products))
    if a.low is not None and b.low is not None and a.low >= 0 and b.low >= 0:
        return Interval(a.low * b.low, None)
    return ANY


def _by_sign(
    of_positive: Callable[[Interval, Interval], Interval], a: Interval, b: Interval, flip: int
) -> Interval:
    """The interval of a quotient or remainder, from its function `of_positive` for positive `b`.
    For negative `b`, negates both operands and multiplies by `flip`; division by zero gives 0."""
    above, below = b.meet(Interval(1, None)), b.meet(Interval(None, -1))
    found = _NO if 0 in b else EMPTY
    if not above.empty:
        found = found.hull(of_positive(a, above))
    if not below.empty:
        found = found.hull(of_positive(a.times(-1), below.times(-1)).times(flip))
    return found


def _quotient(a: Interval, b: Interval) -> Interval:
    """`a // b` for positive `b`."""
    assert b.low is not None
    low, high = a.low, a.high
    if low is not None:
        low = low // b.low if low < 0 else 0 if b.high is None else low // b.high
    if high is not None:
        high = high // b.low if high >= 0 else -1 if b.high is None else high // b.high
    return Interval(low, high)


def _remainder(a: Interval, b: Interval) -> Interval:
    """`a % b` for positive `b`."""
    assert b.low is not None
    ends = a.bounds
    if ends is not None and b.only is not None and ends[0] // b.only == ends[1] // b.only:
        return Interval(ends[0] % b.only, ends[1] % b.only)
    if ends is not None and ends[0] >= 0 and ends[1] < b.low:
        return a
    found = Interval(0, None if b.high is None else b.high - 1)
    return found.meet(Interval(0, a.high)) if a.low is not None and a.low >= 0 else found


def _below(a: Interval, b: Interval) -> Interval:
    """The interval of `a <= b`, as 0 or 1."""
    if a.high is not None and b.low is not None and a.high <= b.low:
        return _YES
    return _NO if a.low is not None and b.high is not None and a.low > b.high else BIT


def _equal(a: Interval, b: Interval) -> Interval:
    if a.only is not None and a.only == b.only:
        return _YES
    return _NO if a.meet(b).empty else BIT


def _bitwise(op: BinaryOp, a: Interval, b: Interval) -> Interval:
    if a.only is not None and b.only is not None:
        only = binary_function(op, INDEX)(a.only, b.only)
        return Interval(only, only)
    least = [each for each in (a, b) if each.low is not None and each.low >= 0]
    if op is BinaryOp.AND:
        highs = [each.high for each in least if each.high is not None]
        return Interval(0, min(highs, default=None)) if least else ANY
    if len(least) < 2 or a.high is None or b.high is None:
        return ANY
    low = max(a.low or 0, b.low or 0) if op is BinaryOp.OR else 0
    return Interval(low, (1 << max(a.high, b.high).bit_length()) - 1)


def _shifted_right(a: Interval, b: Interval) -> Interval:
    """The interval of `a >> b`: shifts move values towards 0, negative values towards -1."""
    if b.only is not None and 0 <= b.only < 64:
        return _quotient(a, Interval(1 << b.only, 1 << b.only))
    return Interval(
        None if a.low is None else min(a.low, 0), None if a.high is None else max(a.high, -1)
    )


_BINARY: dict[BinaryOp, Callable[[Interval, Interval], Interval]] = {
    BinaryOp.ADD: lambda a, b: a + b,
    BinaryOp.SUB: lambda a, b: a + b.times(-1),
    BinaryOp.MUL: _multiplied,
    BinaryOp.FLOORDIV: lambda a, b: _by_sign(_quotient, a, b, 1),
    BinaryOp.MOD: lambda a, b: _by_sign(_remainder, a, b, -1),
    BinaryOp.MIN: lambda a, b: _maximum(a.times(-1), b.times(-1)).times(-1),
    BinaryOp.MAX: _maximum,
    BinaryOp.LT: lambda a, b: _below(a, b + Interval(-1, -1)),
    BinaryOp.LE: _below,
    BinaryOp.EQ: _equal,
    BinaryOp.NE: lambda a, b: _equal(a, b).times(-1) + _YES,
    BinaryOp.AND: partial(_bitwise, BinaryOp.AND),
    BinaryOp.OR: partial(_bitwise, BinaryOp.OR),
    BinaryOp.XOR: partial(_bitwise, BinaryOp.XOR),
    BinaryOp.SHR: _shifted_right,
}
"""Every operation on non-empty intervals; the result of other operations is unbounded."""
