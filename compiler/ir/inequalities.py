"""Systems of linear inequalities over the integers: whether they contradict each other.

Fourier's and Motzkin's elimination: a variable that is bounded from below by some inequalities and
from above by others goes, if each of the first is added to each of the second. It finds every
contradiction of rational numbers; dividing by common factors and rounding finds many of those that
only integers have. The number of inequalities can square at each step, so that there is a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from compiler.ir.expr import Expr
from compiler.ir.linear import Linear

__all__ = ["contradictory"]

_LIMIT = 200
"""Inequalities at a time. Those of a tile's guards are some twenty."""

_Row = dict[Expr, int]
_System = dict[frozenset[tuple[Expr, int]], int]
"""For each left side, the least constant: `sum of factor * atom + constant >= 0`."""


def contradictory(inequalities: Iterable[Linear]) -> bool:
    """Whether no integers make all of these sums 0 or more. False also where nothing was found."""
    system: _System = {}
    for each in inequalities:
        if _add(system, dict(each.terms), each.constant):
            return True
    while system and len(system) <= _LIMIT:
        atom = _cheapest(list(system))
        rest: _System = {}
        lower: list[tuple[_Row, int, int]] = []
        upper: list[tuple[_Row, int, int]] = []
        for key, constant in system.items():
            row = dict(key)
            factor = row.pop(atom, 0)
            if not factor:
                rest[key] = constant
            else:
                (lower if factor > 0 else upper).append((row, abs(factor), constant))
        for row, factor, constant in lower:
            for other, times, offset in upper:
                if _add(rest, *_sum(row, factor, constant, other, times, offset)):
                    return True
        system = rest
    return False


def _sum(
    row: _Row, factor: int, constant: int, other: _Row, times: int, offset: int
) -> tuple[_Row, int]:
    """`times` the one and `factor` times the other, divided by what both numbers share."""
    common = gcd(factor, times)
    factor, times = factor // common, times // common
    result = {atom: times * each for atom, each in row.items()}
    for atom, each in other.items():
        result[atom] = result.get(atom, 0) + factor * each
    return result, times * constant + factor * offset


def _add(system: _System, row: _Row, constant: int) -> bool:
    """Put an inequality in, unless a stronger one of the same left side is there. Whether it can
    never hold."""
    row = {atom: each for atom, each in row.items() if each}
    if not row:
        return constant < 0
    common = gcd(*row.values())
    key = frozenset((atom, each // common) for atom, each in row.items())
    constant //= common
    system[key] = min(constant, system.get(key, constant))
    return False


def _cheapest(keys: Sequence[frozenset[tuple[Expr, int]]]) -> Expr:
    """The atom that leaves the fewest inequalities behind."""
    below: dict[Expr, int] = {}
    above: dict[Expr, int] = {}
    for key in keys:
        for atom, factor in key:
            side = below if factor > 0 else above
            side[atom] = side.get(atom, 0) + 1
    atoms = dict.fromkeys((*below, *above))

    def growth(atom: Expr) -> int:
        lower, upper = below.get(atom, 0), above.get(atom, 0)
        return lower * upper - lower - upper

    return min(atoms, key=growth)
