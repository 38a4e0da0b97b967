"""Simplifies affine sums divided by positive constants, and sums of quotients and remainders.

In a sum `g * a + b` with a constant `g`, if `b // g` is the same number `k` for all values of `b`,
then `(g * a + b) // g` is `a + k`, and `(g * a + b) // c` is `(a + k) // (c // g)` for any multiple
`c` of `g`.

Sums that depend on data may overflow, and then these laws do not hold: see `exact`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Binary, Const, Expr, Var
from tandem.compiler.ir.interval import Ranges, depends_on_data, interval
from tandem.compiler.ir.interval_ops import EMPTY, Interval
from tandem.compiler.ir.linear import Linear, linear
from tandem.compiler.ir.operations import BinaryOp


class DivisionSimplifier:
    """Divides affine sums of simplified atoms, given the ranges of their variables."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self._intervals: dict[Expr, Interval] = {}

    def interval(self, value: Linear) -> Interval:
        """The interval of a sum, if the sum does not overflow, from the intervals of its atoms."""
        low: int | None = value.constant
        high: int | None = value.constant
        for atom, factor in value.terms:
            found = self._of_atom(atom)
            if found.empty:
                return EMPTY
            least, most = (found.low, found.high) if factor > 0 else (found.high, found.low)
            low = None if low is None or least is None else low + factor * least
            high = None if high is None or most is None else high + factor * most
        return Interval(low, high)

    def _of_atom(self, atom: Expr) -> Interval:
        if isinstance(atom, Var):
            return self.ranges.get(atom.name) or interval(atom, self.ranges)
        found = self._intervals.get(atom)
        if found is None:
            found = self._intervals[atom] = interval(atom, self.ranges)
        return found

    def exact(self, value: Linear) -> bool:
        """Whether a sum is known not to overflow: it does not depend on data (index arithmetic on
        variables never overflows, by contract), is a single atom, or its interval fits INDEX."""
        if all(isinstance(atom, Var) or not depends_on_data(atom) for atom, _ in value.terms):
            return True
        if len(value.terms) == 1 and value.terms[0][1] == 1 and not value.constant:
            return True
        ends = self.interval(value).bounds
        return ends is not None and INDEX.low <= ends[0] and ends[1] <= INDEX.high

    def atom(self, expr: Expr) -> Linear:
        """`expr` as a sum of one term, or as a constant if its interval holds one value."""
        only = interval(expr, self.ranges).only
        return Linear.atom(expr) if only is None else Linear((), only)

    def of(self, expr: Expr) -> Linear:
        """A simplified expression as a sum: of one atom if the sum of its terms may overflow."""
        found = linear(expr)
        return found if self.exact(found) else Linear.atom(expr)

    def split_coarse(self, value: Linear, limit: int) -> tuple[int, Linear, Linear] | None:
        """(step, a, b) with `value == step * a + b`, `0 <= b < step` and `limit % step == 0`; None
        if no candidate of `steps` qualifies. A limit of 0 admits any step."""
        for step in steps(value, limit):
            coarse, fine = value.split(step)
            ends = self.interval(fine).bounds
            if ends is not None and ends[0] // step == ends[1] // step:
                period = ends[0] // step
                return step, coarse.shifted(period), fine.shifted(-period * step)
        return None

    def quotient(self, value: Linear, divisor: int) -> Linear:
        """`value // divisor`, for an exact sum and a divisor of 1 or more."""
        if divisor == 1 or not value.terms:
            return Linear(value.terms, value.constant // divisor)
        if (found := self.split_coarse(value, divisor)) is not None:
            step, coarse, _ = found
            return self.quotient(coarse, divisor // step)
        whole, rest = value.split(divisor)
        shift, constant = divmod(rest.constant, divisor)
        rest = Linear(rest.terms, constant)
        return whole.shifted(shift) + (
            self._nested_quotient(rest, divisor) or _atom(BinaryOp.FLOORDIV, rest, divisor)
        )

    def _nested_quotient(self, value: Linear, divisor: int) -> Linear | None:
        """`value // divisor` by a rule: `(x // a + r) // c` is `(x + r * a) // (a * c)`, and
        `(x % (a * c)) // c` is `(x // c) % a`; None if neither rule applies."""
        if len(value.terms) > 1 or value.terms[0][1] != 1:
            return None
        atom = value.terms[0][0]
        if (inner := match_division(atom, BinaryOp.FLOORDIV)) is not None:
            under = inner[0].shifted(value.constant * inner[1])
            if not self.exact(under) or inner[1] * divisor > INDEX.high:
                return None
            return self.quotient(under, inner[1] * divisor)
        inner = match_division(atom, BinaryOp.MOD)
        if inner is None or value.constant or inner[1] % divisor or not self.exact(inner[0]):
            return None
        return self.remainder(self.quotient(inner[0], divisor), inner[1] // divisor)

    def remainder(self, value: Linear, divisor: int) -> Linear:
        """`value % divisor`, for an exact sum and a divisor of 1 or more."""
        value = self._reduced(value, divisor)
        if divisor == 1 or not value.terms:
            return Linear((), value.constant % divisor)
        if (found := self.split_coarse(value, divisor)) is not None:
            step, coarse, fine = found
            return self.remainder(coarse, divisor // step).times(step) + fine
        return _atom(BinaryOp.MOD, value, divisor)

    def _reduced(self, value: Linear, divisor: int) -> Linear:
        """A sum with the same remainder: terms with a multiple of `divisor` as factor are dropped,
        and `f * (x % d)` becomes `f * x` if `f * d` is a multiple of `divisor`.

        Other factors are kept, even factors above `divisor`: `recombined` merges `x % c` with
        `x // c` only if both have the same `x`.
        """
        while True:
            factors: dict[Expr, int] = {}
            constant = value.constant
            for atom, factor in value.terms:
                inner = match_division(atom, BinaryOp.MOD)
                if inner is not None and not factor * inner[1] % divisor:
                    under = inner[0].times(factor)
                    constant += under.constant
                    parts = under.terms
                else:
                    parts = ((atom, factor),)
                for part, times in parts:
                    factors[part] = factors.get(part, 0) + times
            kept = {atom: factor for atom, factor in factors.items() if factor % divisor}
            smaller = self.merge_remainders(Linear.of(kept, constant % divisor))
            if smaller == value or not self.exact(smaller):
                return value
            value = smaller

    def merge_remainders(self, value: Linear) -> Linear:
        """The same sum, with `c * (x // c) + x % c` and the like merged."""
        while len(value.terms) > 1:
            shorter = next(self._recombinations(value), None)
            if shorter is None:
                break
            value = shorter
        return value

    def _recombinations(self, value: Linear) -> Iterator[Linear]:
        for atom, factor in value.terms:
            if (inner := match_division(atom, BinaryOp.MOD)) is not None:
                yield from self._with_remainder(value, atom, factor, *inner)
            elif (inner := match_division(atom, BinaryOp.FLOORDIV)) is not None:
                yield from self._with_quotient(value, atom, factor, *inner)

    def _with_remainder(
        self, value: Linear, atom: Expr, factor: int, under: Linear, divisor: int
    ) -> Iterator[Linear]:
        """`c * (x // c) + x % c` is `x`; `c * ((x // c) % d) + x % c` is `x % (c * d)`."""
        if not self.exact(under):
            return
        without = value - Linear(((atom, factor),))
        above = self.quotient(under, divisor).times(factor * divisor)
        if above.terms and set(above.terms) <= set(value.terms):
            yield without - above + under.times(factor)
        for other, times in without.terms:
            outer = match_division(other, BinaryOp.MOD) if times == factor * divisor else None
            if outer is None or outer[1] * divisor > INDEX.high:
                continue
            if outer[0].times(times) == above:
                both = self.remainder(under, divisor * outer[1]).times(factor)
                joined = without - Linear(((other, times),)) + both
                if len(joined.terms) < len(value.terms):
                    yield joined

    def _with_quotient(
        self, value: Linear, atom: Expr, factor: int, under: Linear, divisor: int
    ) -> Iterator[Linear]:
        """`x - c * (x // c)` is `x % c`."""
        times, odd = divmod(-factor, divisor)
        terms = under.times(times).terms
        if not odd and set(terms) <= set(value.terms) and self.exact(under):
            rest = value - Linear(((atom, factor),)) - under.times(times)
            yield rest + self.remainder(under, divisor).times(times)


def match_division(expr: Expr, op: BinaryOp) -> tuple[Linear, int] | None:
    """The dividend and divisor if `expr` is the operation `op` by a positive constant, or None."""
    match expr:
        case Binary(op=found, left=left, right=Const(value=value)) if found is op and value > 0:
            return linear(left), int(value)
        case _:
            return None


def steps(value: Linear, limit: int) -> list[int]:
    """Candidate steps for `DivisionSimplifier.split_coarse`, above 1 and in descending order.

    Steps are `limit`, and its greatest common divisors with one factor of the sum or with its n
    largest factors. `gcd(0, factor)` is `abs(factor)`."""
    found = {limit}
    common = limit
    for _, factor in sorted(value.terms, key=lambda term: -abs(term[1])):
        common = gcd(common, factor)
        found |= {common, gcd(limit, factor)}
    return sorted(found - {0, 1}, reverse=True)


def _atom(op: BinaryOp, value: Linear, divisor: int) -> Linear:
    return Linear.atom(Binary(op, value.expr(), Const(divisor)))
