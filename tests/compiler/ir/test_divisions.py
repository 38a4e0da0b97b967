"""`compiler.ir.divisions`: quotients and remainders of sums are those of their values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.ir import INT64, Buffer, Expr, Load, Var
from tandem.compiler.ir.divisions import DivisionSimplifier, match_division, steps
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.interval import NO_RANGES
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.linear import Linear, linear
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import maximum, minimum
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.simplify import simplify
from tests.support.compiler.ir.index_values import indices, points, ranges, value

NAMES = ("i", "j", "k")
i, j, n = (Var(name) for name in "ijn")
WIDE = Load(Buffer("wide", (8,), INT64), (i,))


@given(indices(NAMES, depth=3), st.integers(1, 13), ranges(NAMES, 5))
def test_quotients_and_remainders(expr: Expr, divisor: int, where: dict[str, Interval]) -> None:
    sums = DivisionSimplifier(where)
    under = linear(simplify(expr, where))
    quotient = sums.quotient(under, divisor).expr()
    remainder = sums.remainder(under, divisor).expr()
    spread = sums.interval(under)
    for point in points(where):
        number = value(expr, point)
        assert number in spread
        assert (value(quotient, point), value(remainder, point)) == divmod(number, divisor)


@given(indices(NAMES, depth=3), st.integers(1, 13), st.integers(-3, 3), ranges(NAMES, 4))
def test_what_was_divided_is_put_together(
    expr: Expr, divisor: int, times: int, where: dict[str, Interval]
) -> None:
    sums = DivisionSimplifier(where)
    under = linear(simplify(expr, where))
    parts = sums.quotient(under, divisor).times(divisor) + sums.remainder(under, divisor)
    whole = sums.merge_remainders(parts.times(times)).expr()
    for point in points(where):
        assert value(whole, point) == times * value(expr, point)


def test_sums_of_variables_are_put_together_again() -> None:
    """Whatever their ranges make of the parts."""
    for last in (1, 5, 6, 100):
        sums = DivisionSimplifier({"i": Interval(0, 8), "j": Interval(0, last)})
        for stride in range(1, 9):
            under = linear(i * stride + j)
            for divisor in range(2, 12):
                whole = sums.quotient(under, divisor).times(divisor)
                assert sums.merge_remainders(whole + sums.remainder(under, divisor)) == under
                assert sums.merge_remainders(under - whole) == sums.remainder(under, divisor)


def test_coarse() -> None:
    sums = DivisionSimplifier({"i": Interval(4, 7)})
    for shift, period in ((-8, -1), (-4, 0), (0, 1)):
        found = sums.split_coarse(linear(j * 4 + i + shift), 4)
        assert found == (4, linear(j + period), linear(i - 4))
    assert sums.split_coarse(linear(j * 4 + i + 1), 4) is None
    assert sums.split_coarse(linear(j * 4 + n), 4) is None


def test_exact() -> None:
    sums = DivisionSimplifier({"i": Interval(0, 7)})
    clipped = maximum(minimum(WIDE, 9), 0)
    for inside in (n * 1000 + 7, WIDE, clipped * 1000 + i, minimum(WIDE, 9)):
        assert sums.exact(linear(inside))
        assert sums.of(inside) == linear(inside)
    for outside in (WIDE + 1, WIDE * 2, minimum(WIDE, 9) - 1, clipped * INDEX.high):
        assert not sums.exact(linear(outside))
        assert sums.of(outside) == Linear.atom(outside)


def test_divisors_stay_within_the_type() -> None:
    huge = 1 << 40
    sums = DivisionSimplifier(NO_RANGES)
    once = sums.quotient(linear(n), huge)
    assert text(sums.quotient(once, huge).expr()) == f"n // {huge} // {huge}"
    above = sums.remainder(once, huge).times(huge)
    assert sums.merge_remainders(above + sums.remainder(linear(n), huge)).factor(n) == 0


def test_divided() -> None:
    assert match_division((i + 1) // 4, BinaryOp.FLOORDIV) == (linear(i + 1), 4)
    assert match_division((i + 1) // 4, BinaryOp.MOD) is None
    assert match_division(i // j, BinaryOp.FLOORDIV) is None
    assert match_division(i // 0, BinaryOp.FLOORDIV) is None
    assert match_division(i, BinaryOp.MOD) is None


def test_steps_divide_the_limit() -> None:
    assert steps(linear(i * 12 + j * 8 + n), 24) == [24, 12, 8, 4]
    assert steps(linear(i * 12 + j * 8 + n), 0) == [12, 8, 4]
    assert steps(linear(n), 7) == [7]
    assert steps(linear(n), 0) == []
