"""The sum of a residual block by passes of the base ISA's ALU: exact in 32 bits, or not at all.

A channel is f(x, k) = (x * M + C + k * N) >> s with M, N >= 0, for accumulators x of an interval
[first, last] and skipped values k of [least, greatest]. The passes are

    x: MAX p, MIN q, MUL M, ADD C mod 2^32        k: MUL N        x + k: SHR s, MAX low, MIN high

without those that do nothing. Why it is exact: f does not fall as x grows. Where the result is
`low` at p whatever k is, it is `low` for every x under p as well, so that p can stand for them; the
same holds for `high` and q. With x in [p, q] the sum lies between those of (p, least) and
(q, greatest). Where these two fit 32 bits it does, and then it does not matter that MUL or ADD
wrapped: both are right mod 2^32, and only one number of 32 bits is.

Tried are the whole interval, which needs no clipping of x, and the narrowest such window. A channel
that is at one end throughout gets a constant there, of any k, in place of C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.ir.dtypes import INT32
from compiler.requantisation.alu_lowering import Goal, Line, Window, cost
from compiler.requantisation.alu_steps import AluStep, needed_steps
from hw.operations import AluOp

__all__ = ["ResidualSteps", "Skip", "exact_residual_steps", "has_exact_residual_steps"]


@dataclass(frozen=True, slots=True)
class ResidualSteps:
    """Passes of a residual sum; ADD of the two comes between `skip` and `total`.

    Attributes
    ----------
    acc, skip, total
        Over the accumulators, over what is added to them, and over the sum.
    """

    acc: tuple[AluStep, ...]
    skip: tuple[AluStep, ...]
    total: tuple[AluStep, ...]


@dataclass(frozen=True, slots=True)
class Skip:
    """What is added: values of [least, greatest] times the multiplier."""

    multiplier: int
    least: int
    greatest: int

    @property
    def bottom(self) -> int:
        """The least that is added."""
        return self.least * self.multiplier

    @property
    def top(self) -> int:
        """The greatest that is added."""
        return self.greatest * self.multiplier


def exact_residual_steps(lines: Sequence[Line], skip: Skip, goal: Goal) -> ResidualSteps | None:
    """The fewest passes that are exact; None if none are. `lines` has one shift."""
    found = (_steps(windows, added, goal) for windows, added in _exact(lines, skip, goal))
    return min(found, key=lambda each: cost((*each.acc, *each.skip, *each.total)), default=None)


def has_exact_residual_steps(lines: Sequence[Line], skip: Skip, goal: Goal) -> bool:
    """Whether `exact_residual_steps` finds some: that takes less, as the first will do."""
    return next(_exact(lines, skip, goal), None) is not None


def _exact(
    lines: Sequence[Line], skip: Skip, goal: Goal
) -> Iterator[tuple[Sequence[Window], Skip]]:
    """Windows, one for each channel, that make exact passes, with what is added in their units."""
    twos = min(line.twos for line in (*lines, Line(skip.multiplier, 0, lines[0].shift)))
    reduced = [line.without_twos(twos) for line in lines]
    added = Skip(skip.multiplier >> twos, skip.least, skip.greatest)
    for window_of in (_whole, _narrow):
        windows = [window_of(line, added, goal) for line in reduced]
        if all(_fits(window, added) for window in windows):
            yield windows, added


def _whole(line: Line, _: Skip, goal: Goal) -> Window:
    return Window(line, goal.first, goal.last)


def _narrow(line: Line, skip: Skip, goal: Goal) -> Window:
    """From the last x that gives `low` for every k, to the first that gives `high`."""
    under = ((goal.low + 1) << line.shift) - 1 - skip.top
    over = (goal.high << line.shift) - skip.bottom
    if line.sum(goal.last) <= under:
        return Window(Line(line.multiplier, under, line.shift), 0, 0)
    if line.sum(goal.first) >= over:
        return Window(Line(line.multiplier, over, line.shift), 0, 0)
    if line.multiplier == 0:
        return Window(line, goal.first, goal.last)
    p = (under - line.addend) // line.multiplier
    q = -((line.addend - over) // line.multiplier)
    return Window(line, max(goal.first, p), min(goal.last, q))


def _ends(window: Window, skip: Skip) -> tuple[int, int]:
    """The least and the greatest sum."""
    line = window.line
    return line.sum(window.p) + skip.bottom, line.sum(window.q) + skip.top


def _fits(window: Window, skip: Skip) -> bool:
    bottom, top = _ends(window, skip)
    return window.p <= window.q and INT32.low <= bottom and top <= INT32.high


def _steps(windows: Sequence[Window], skip: Skip, goal: Goal) -> ResidualSteps:
    """The passes for exact windows."""
    ends = [_ends(window, skip) for window in windows]
    shift = windows[0].line.shift
    least = min(bottom for bottom, _ in ends) >> shift
    greatest = max(top for _, top in ends) >> shift
    return ResidualSteps(
        needed_steps(
            (AluOp.MAX, [each.p for each in windows], goal.first),
            (AluOp.MIN, [each.q for each in windows], goal.last),
            (AluOp.MUL, [each.line.multiplier for each in windows], 1),
            (AluOp.ADD, [INT32.wrap(each.line.addend) for each in windows], 0),
        ),
        needed_steps((AluOp.MUL, [skip.multiplier], 1)),
        needed_steps(
            (AluOp.SHR, [shift], 0),
            (AluOp.MAX, [goal.low], min(goal.low, least)),
            (AluOp.MIN, [goal.high], max(goal.high, greatest)),
        ),
    )
