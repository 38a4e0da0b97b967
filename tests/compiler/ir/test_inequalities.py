"""`compiler.ir.inequalities`: what is called contradictory has no solution."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from compiler.ir import Var
from compiler.ir.inequalities import contradictory
from compiler.ir.linear import Linear

NAMES = ("x", "y", "z")
x, y, z = (Var(name) for name in NAMES)
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


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(-4, 4))))
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
