"""Proofs of conditions on indices, by refuting systems of linear inequalities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd

from tandem.compiler.ir.divisions import match_division
from tandem.compiler.ir.dtypes import BOOL, INDEX
from tandem.compiler.ir.expr import (
    Binary,
    Const,
    Expr,
    Unary,
    Var,
)
from tandem.compiler.ir.interval import Ranges
from tandem.compiler.ir.linear import Linear
from tandem.compiler.ir.linear_ops import flatten_operands, negated
from tandem.compiler.ir.normal import Normaliser
from tandem.compiler.ir.operations import (
    BinaryOp,
    UnaryOp,
)
from tandem.compiler.ir.visit import variables

_FALSE = Const(False, BOOL)

_CASES = 3
"""The number of minima and maxima that are proved case by case; each doubles the work."""


def prove(condition: Expr, ranges: Ranges, assuming: Sequence[Expr] = ()) -> bool:
    """Whether a condition provably holds for all values in `ranges` that satisfy `assuming`.

    Conditions are comparisons of index expressions, combined by `&`, `|` and `~`. False means that
    no proof is found: products of variables, and sums of data that may overflow, are not analysed.
    If there are no such values, every condition holds.
    """
    normal = Normaliser(ranges)
    goal = normal.expr(condition)
    if isinstance(goal, Const) and (goal.value or not assuming):
        return bool(goal.value)
    known = [
        part for fact in assuming for part in flatten_operands(BinaryOp.AND, normal.expr(fact))
    ]
    return _Proof(normal, tuple(known)).holds(goal)


class _Proof:
    """A proof search from known conditions in normal form."""

    def __init__(self, normal: Normaliser, known: tuple[Expr, ...]) -> None:
        self._normal = normal
        self._known = known
        self._facts = [fact for each in known for fact in _facts(each, normal)]

    def holds(self, goal: Expr) -> bool:
        """Whether a condition follows from the known ones."""
        if goal in self._known or _FALSE in self._known:
            return True
        match goal:
            case Const(value=value):
                return bool(value)
            case Binary(op=BinaryOp.AND, left=left, right=right):
                return self.holds(left) and self.holds(right)
            case Binary(op=BinaryOp.OR, left=left, right=right):
                if self.holds(left) or self.holds(right):
                    return True
                otherwise = negated(left)
                return otherwise is not None and self._assuming(otherwise).holds(right)
            case Unary(op=UnaryOp.NOT):
                opposite = negated(goal.operand)
                return opposite is not None and self.holds(self._normal.expr(opposite))
            case Binary(op=op, left=left, right=right) if op.compares and left.dtype == INDEX:
                difference = self._normal.linear(left) - self._normal.linear(right)
                return self._compares(op, difference)
            case _:
                return False

    def _assuming(self, condition: Expr) -> _Proof:
        more = flatten_operands(BinaryOp.AND, self._normal.expr(condition))
        return _Proof(self._normal, (*self._known, *more))

    def _compares(self, op: BinaryOp, difference: Linear) -> bool:
        match op:
            case BinaryOp.LT:
                return self._impossible(difference)
            case BinaryOp.LE:
                return self._impossible(difference.shifted(-1))
            case BinaryOp.EQ:
                return self._impossible(difference.shifted(-1)) and self._impossible(
                    difference.times(-1).shifted(-1)
                )
            case _:
                return self._impossible(difference) or self._impossible(difference.times(-1))

    def _impossible(self, value: Linear) -> bool:
        """Whether `value >= 0` contradicts the known conditions."""
        rows = _reached([value, *self._facts])
        if len(rows) == 1 and all(isinstance(atom, Var) for atom, _ in value.terms):
            # The normal form has already used the variables' intervals.
            return False
        choices: list[list[Linear]] = []
        seen: set[Expr] = set()
        for row in rows:  # grows in this loop
            for atom, _ in row.terms:
                if atom not in seen:
                    seen.add(atom)
                    rows += self._meaning(atom, choices)
        return _refuted(rows, choices[:_CASES])

    def _meaning(self, atom: Expr, choices: list[list[Linear]]) -> Iterator[Linear]:
        """Yield sums that are 0 or more by the definition of an atom. For a minimum or maximum,
        append to `choices` the sums of which at least one is 0 or more."""
        sums, itself = self._normal.sums, Linear.atom(atom)
        found = sums.interval(itself)
        if found.low is not None:
            yield itself.shifted(-found.low)
        if found.high is not None:
            yield itself.times(-1).shifted(found.high)
        match atom:
            case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD as op):
                inner = match_division(atom, op)
                if inner is not None and sums.exact(inner[0]):
                    under, divisor = inner
                    quotient = itself if op is BinaryOp.FLOORDIV else sums.quotient(under, divisor)
                    rest = under.plus(quotient, -divisor)
                    if op is BinaryOp.MOD:
                        yield rest - itself
                        yield itself - rest
                    else:
                        yield rest
                        yield rest.times(-1).shifted(divisor - 1)
            case Binary(op=BinaryOp.MIN | BinaryOp.MAX as op):
                sign = 1 if op is BinaryOp.MIN else -1
                above = [
                    (sums.of(operand) - itself).times(sign)
                    for operand in flatten_operands(op, atom)
                ]
                yield from above
                choices.append([each.times(-1) for each in above])


def _facts(condition: Expr, normal: Normaliser) -> Iterator[Linear]:
    """Yield sums that are 0 or more where a condition holds."""
    match condition:
        case Binary(op=op, left=left, right=right) if op.compares and left.dtype == INDEX:
            difference = normal.linear(right) - normal.linear(left)
            match op:
                case BinaryOp.LT:
                    yield difference.shifted(-1)
                case BinaryOp.LE:
                    yield difference
                case BinaryOp.EQ:
                    yield difference
                    yield difference.times(-1)
                case _:
                    found = normal.sums.interval(difference)
                    if found.low == 0:
                        yield difference.shifted(-1)
                    elif found.high == 0:
                        yield difference.times(-1).shifted(-1)


def _reached(rows: list[Linear]) -> list[Linear]:
    """The first row, and all that are connected to it by shared variables."""
    kept, rest = rows[:1], rows[1:]
    names = _names(rows[0])
    while True:
        near = [row for row in rest if not names.isdisjoint(_names(row))]
        if not near:
            return kept
        kept += near
        rest = [row for row in rest if row not in near]
        names = names.union(*map(_names, near))


def _names(row: Linear) -> frozenset[str]:
    return frozenset().union(*(variables(atom) for atom, _ in row.terms))


def _refuted(rows: list[Linear], choices: list[list[Linear]]) -> bool:
    if contradictory(rows):
        return True
    return bool(choices) and all(_refuted([*rows, each], choices[1:]) for each in choices[0])


_LIMIT = 200
"""The greatest number of inequalities. The guards of a tile need some twenty."""

_Row = dict[Expr, int]
_System = dict[frozenset[tuple[Expr, int]], int]
"""The constant of each inequality `sum of factor * atom + constant >= 0`, by its terms."""


def contradictory(inequalities: Iterable[Linear]) -> bool:
    """Whether no integers make all these sums 0 or more; False if no contradiction is found.

    Fourier-Motzkin elimination: to eliminate a variable, every inequality that bounds it from below
    is added to every one that bounds it from above. This finds every contradiction of rational
    numbers; dividing by common factors and rounding finds many contradictions of integers. A step
    can square the number of inequalities, which is limited.
    """
    system: _System = {}
    for inequality in inequalities:
        if _add(system, dict(inequality.terms), inequality.constant):
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
    """`times` one row plus `factor` times the other, with both numbers in lowest terms."""
    common = gcd(factor, times)
    factor, times = factor // common, times // common
    result = {atom: times * each for atom, each in row.items()}
    for atom, number in other.items():
        result[atom] = result.get(atom, 0) + factor * number
    return result, times * constant + factor * offset


def _add(system: _System, row: _Row, constant: int) -> bool:
    """Add an inequality, unless the system has a stronger one of the same terms. Return whether
    the inequality can never hold."""
    row = {atom: each for atom, each in row.items() if each}
    if not row:
        return constant < 0
    common = gcd(*row.values())
    key = frozenset((atom, each // common) for atom, each in row.items())
    constant //= common
    system[key] = min(constant, system.get(key, constant))
    return False


def _cheapest(keys: Sequence[frozenset[tuple[Expr, int]]]) -> Expr:
    """The atom whose elimination leaves the fewest inequalities."""
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
