"""`compiler.ir.prove`: proofs are sound, schedules get those that they need, and contradictory
systems have no solution."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.ir import BOOL, FLOAT32, INT8, INT64, Buffer, Const, Expr, Load, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.linear import Linear
from tandem.compiler.ir.ops import cast, equal, maximum, minimum, not_equal, select
from tandem.compiler.ir.prove import contradictory, prove
from tests.support.compiler.ir.index_values import conditions, points, ranges, value

NAMES = ("i", "j", "k")
i, j, k, n = (Var(name) for name in (*NAMES, "n"))
WHERE = {"i": Interval(0, 9), "j": Interval(0, 6), "k": Interval(0, 3)}
WIDE = Load(Buffer("wide", (4,), INT64), (k,))
NARROW = cast(Load(Buffer("narrow", (4,), INT8), (k,)), INT64)


@given(
    conditions(NAMES, depth=2),
    st.lists(conditions(NAMES, depth=2), max_size=3),
    ranges(NAMES, 4),
)
def test_what_is_proved_holds(
    condition: Expr, assuming: list[Expr], where: dict[str, Interval]
) -> None:
    if prove(condition, where, assuming):
        for point in points(where):
            if all(value(each, point) for each in assuming):
                assert value(condition, point)


PLAIN = st.builds(
    lambda factors, constant: i * factors[0] + j * factors[1] + k * factors[2] + constant < 0,
    st.lists(st.integers(-3, 3), min_size=3, max_size=3),
    st.integers(-20, 5),
)


@given(PLAIN, ranges(NAMES, 4))
def test_one_inequality_of_variables_is_decided(
    condition: Expr, where: dict[str, Interval]
) -> None:
    holds = [bool(value(condition, point)) for point in points(where)]
    assert prove(condition, where) is all(holds)
    assert prove(~condition, where) is not any(holds)


@pytest.mark.parametrize(
    ("condition", "assuming"),
    [
        pytest.param(i < 10, (), id="range"),
        pytest.param(i * 7 + j < 70, (), id="tile"),
        pytest.param(not_equal(i, 12), (), id="never equal"),
        pytest.param(i < 20, (i < 15,), id="weaker"),
        pytest.param(i + j < 14, (i + j < 14,), id="itself"),
        pytest.param(j + i + 1 < 15, (i + j < 14,), id="written differently"),
        pytest.param(i < n, (i + j < n,), id="sum of two facts"),
        pytest.param(i * 7 + j < n * 7, (i < n,), id="tiles of n"),
        pytest.param(i < j + k, (i < j,), id="transitive with a range"),
        pytest.param(i < n, (i < j, j <= n), id="transitive"),
        pytest.param((i * 7 + j) // 5 < 11, (i * 7 + j < 55,), id="quotient, from its operand"),
        pytest.param(i * 7 + j < 55, ((i * 7 + j) // 5 < 11,), id="operand, from its quotient"),
        pytest.param(
            i * 7 + j + k * 5 < n * 5, ((i * 7 + j) // 5 + k < n,), id="operand, from a sum"
        ),
        pytest.param((i * 7 + j) // 5 * 5 <= i * 7 + j, (), id="rounded down"),
        pytest.param(i * 7 + j < (i * 7 + j) // 5 * 5 + 5, (), id="by less than the divisor"),
        pytest.param(i % 4 <= i, (), id="remainder of what is not negative"),
        pytest.param(minimum(i * 4, n) <= n, (), id="minimum"),
        pytest.param(minimum(i * 4 + 4, n) - i * 4 <= 4, (), id="tail's length"),
        pytest.param(0 < minimum(i * 4 + 4, n) - i * 4, (i * 4 < n,), id="tail is not empty"),
        pytest.param(maximum(i, n) - n < 10, (0 <= n,), id="maximum"),
        pytest.param((i < 5) | (4 < i), (), id="excluded middle"),
        pytest.param((i < 5) | (j < 7), (), id="one always"),
        pytest.param((i < 12) & (j < 9), (), id="both"),
        pytest.param(~((i < 3) & (j < 2)), (4 < i,), id="not both"),
        pytest.param(equal(i, j), (i <= j, j <= i), id="equal from both sides"),
        pytest.param(i < 3, (equal(i, k), k < 3), id="through an equality"),
        pytest.param(1 <= k, (not_equal(k, 0),), id="not the first"),
        pytest.param(i < 0, (k < 0,), id="nothing is left"),
        pytest.param(Var("b", BOOL), (Var("b", BOOL) & (i < 3),), id="any condition"),
        pytest.param(NARROW < 128, (), id="narrow data"),
        pytest.param(WIDE < n, (WIDE < n,), id="data as assumed"),
        pytest.param(WIDE < 20, (WIDE < 10,), id="data, weaker"),
        pytest.param(select(i < 12, i, 99) < 10, (), id="selection"),
    ],
)
def test_proved(condition: Expr, assuming: tuple[Expr, ...]) -> None:
    assert prove(condition, WHERE, assuming)


@pytest.mark.parametrize(
    ("condition", "assuming"),
    [
        pytest.param(i < 9, (), id="not the last"),
        pytest.param(i < n, (), id="unknown"),
        pytest.param(i < n, (i < n + 1,), id="stronger"),
        pytest.param(WIDE < WIDE + 1, (), id="overflow"),
        pytest.param(WIDE + 1 < 20, (WIDE < 10,), id="no overflow, but nobody asks"),
        pytest.param(Var("x", FLOAT32) < 1.0, (), id="floats"),
        pytest.param(
            ~(Var("x", FLOAT32) < 1.0), (Const(1.0, FLOAT32) <= Var("x", FLOAT32),), id="NaN"
        ),
        pytest.param(WIDE < n * 3, ((WIDE + 1) // 3 + k < n,), id="quotient of an overflow"),
        pytest.param(
            i * 7 + j + k * 5 < n * 5 - 4, ((i * 7 + j) // 5 + k < n,), id="not rounded down"
        ),
        pytest.param(6 <= n, (not_equal(n, 5),), id="different, but below"),
        pytest.param(n <= 4, (not_equal(n, 5),), id="different, but above"),
        pytest.param((i < 5) | (5 < i), (), id="a gap"),
        pytest.param(not_equal(i, j), (not_equal(i, k),), id="unrelated"),
    ],
)
def test_not_proved(condition: Expr, assuming: tuple[Expr, ...]) -> None:
    assert not prove(condition, WHERE, assuming)


UNKNOWNS = ("x", "y", "z")
x, y, z = (Var(name) for name in UNKNOWNS)
SIDE = 4

rows = st.builds(
    lambda factors, constant: Linear.of(dict(zip((x, y, z), factors, strict=True)), constant),
    st.lists(st.integers(-3, 3), min_size=3, max_size=3),
    st.integers(-8, 5),
)


def _solvable(system: list[Linear]) -> bool:
    def holds(row: Linear, point: dict[str, int]) -> bool:
        total = row.constant
        for atom, factor in row.terms:
            assert isinstance(atom, Var)
            total += factor * point[atom.name]
        return total >= 0

    return any(
        all(holds(row, {"x": a, "y": b, "z": c}) for row in system)
        for a in range(SIDE)
        for b in range(SIDE)
        for c in range(SIDE)
    )


def _box() -> list[Linear]:
    low = [Linear.atom(each) for each in (x, y, z)]
    return [*low, *(each.times(-1).shifted(SIDE - 1) for each in low)]


@given(st.lists(rows, max_size=6))
def test_contradictions_have_no_solution(system: list[Linear]) -> None:
    if contradictory([*system, *_box()]):
        assert not _solvable([*system, *_box()])


@given(
    st.lists(st.tuples(st.sampled_from(UNKNOWNS), st.sampled_from(UNKNOWNS), st.integers(-4, 4)))
)
def test_differences_are_decided_completely(bounds: list[tuple[str, str, int]]) -> None:
    """`a - b + constant >= 0`: rational and integer solutions exist together."""
    system = [(Linear.atom(Var(a)) - Linear.atom(Var(b))).shifted(c) for a, b, c in bounds]
    assert contradictory([*system, *_box()]) is not _solvable([*system, *_box()])


def test_rounding_finds_what_only_integers_contradict() -> None:
    twice = Linear(((x, 2),))
    assert contradictory([twice.shifted(-1), twice.times(-1).shifted(1)])  # 2 * x == 1
    assert not contradictory([twice.shifted(-2), twice.times(-1).shifted(2)])


def test_empty_and_constant_systems() -> None:
    assert not contradictory([])
    assert not contradictory([Linear((), 0)])
    assert contradictory([Linear((), -1)])


def test_large_systems_are_given_up() -> None:
    """Without a limit these would square at each of twelve steps."""
    many = [Var(f"v{number}") for number in range(12)]
    system = [
        Linear.of({atom: (number * (place + 3)) % 7 - 3 for place, atom in enumerate(many)}, number)
        for number in range(60)
    ]
    assert not contradictory(system)
