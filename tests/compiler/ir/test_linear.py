"""`compiler.ir.linear`: sums are what they stand for, and equal sums are one."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import IRError
from tandem.compiler.ir import INT32, INT64, Buffer, Const, Expr, Load, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.linear import Linear, linear
from tandem.compiler.ir.ops import index, minimum, select
from tandem.compiler.ir.printer import text
from tests.support.compiler.ir.index_values import indices, points, ranges, value

NAMES = ("i", "j", "k")
i, j, k = (Var(name) for name in NAMES)
LOAD = Load(Buffer("rows", (4,), INT64), (j,))


@given(indices(NAMES), ranges(NAMES, 4))
def test_sums_have_the_value_of_the_expression(expr: Expr, where: dict[str, Interval]) -> None:
    found = linear(expr)
    back = found.expr()
    for point in points(where):
        total = sum(factor * value(atom, point) for atom, factor in found.terms)
        assert total + found.constant == value(expr, point) == value(back, point)
    assert linear(back) == found


FACTORS = st.lists(st.integers(-3, 3), min_size=3, max_size=3)


@given(FACTORS, FACTORS, st.integers(-5, 5), st.integers(-5, 5), st.integers(-3, 3))
def test_arithmetic_of_sums(
    one: list[int], two: list[int], shift: int, offset: int, factor: int
) -> None:
    atoms = (i, j // 4, LOAD)
    a = Linear.of(dict(zip(atoms, one, strict=True)), shift)
    b = Linear.of(dict(zip(atoms, two, strict=True)), offset)
    assert all(a.factor(atom) == each for atom, each in zip(atoms, one, strict=True))
    pairs = list(zip(one, two, strict=True))
    assert a + b == Linear.of(
        dict(zip(atoms, (x + y for x, y in pairs), strict=True)), shift + offset
    )
    assert a - b == a.plus(b, -1) == a + b.times(-1)
    assert a.plus(b, factor) == a + b.times(factor)
    assert a - a == Linear(())
    assert a.shifted(offset) - a == Linear((), offset)
    for divisor in (1, 2, 3):
        coarse, fine = a.split(divisor)
        assert coarse.times(divisor) + fine == a
        assert all(each % divisor for _, each in fine.terms)


def test_the_order_of_terms_does_not_depend_on_how_a_sum_was_written() -> None:
    parts = (i * 2, j // 4 * 2, k * -3, LOAD, index(7), i % 4)
    sums = set()
    for chosen in permutations(parts):
        total = chosen[0]
        for part in chosen[1:]:
            total = total + part
        sums.add(linear(total))
    assert len(sums) == 1
    assert text(sums.pop().expr()) == "i * 2 + j // 4 * 2 + i % 4 + rows[j] - k * 3 + 7"


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        pytest.param(i + 1 + i, "i * 2 + 1", id="twice"),
        pytest.param(i + j - i, "j", id="cancelled"),
        pytest.param(i - i, "0", id="nothing"),
        pytest.param(-(i - 3), "3 - i", id="negated"),
        pytest.param(-i - j * 2, "j * -2 - i", id="negative only"),
        pytest.param(-i, "-i", id="minus"),
        pytest.param(i - 1, "i - 1", id="below"),
        pytest.param(3 * (i + 2 * (j - 1)), "j * 6 + i * 3 - 6", id="multiples"),
        pytest.param(i * j * 2 + i * j, "i * j * 3", id="products are atoms"),
        pytest.param(minimum(i, 3) * 2 + select(i < j, i, j), None, id="others are atoms"),
        pytest.param((i + 0) // 4, "(i + 0) // 4", id="atoms stay as written"),
    ],
)
def test_examples(expr: Expr, expected: str | None) -> None:
    shown = "min(i, 3) * 2 + select(i < j, i, j)" if expected is None else expected
    assert text(linear(expr).expr()) == shown


def test_only_indices_are_sums() -> None:
    with pytest.raises(IRError, match="a sum is made of int64, not of int32"):
        linear(Const(3, INT32))
    with pytest.raises(IRError, match="not of bool"):
        linear(i < j)
