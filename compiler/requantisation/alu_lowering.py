"""Requantisation by passes of the base ISA's ALU: exact in 32 bits, or not at all.

A channel is the function f(x) = (x * M + C) >> s, M >= 0, and clip(f(x), low, high) is wanted for
every x of an interval [first, last]. All ways to get it are one scheme,

    MAX p, MIN q, MUL M, ADD C mod 2^32, SHR s, MAX low, MIN high

with a window [p, q] for each channel and without the passes that do nothing. Why it is exact:

- After MIN, x lies in [p, q]. f does not fall as x grows, so x * M + C lies between its values at p
  and q. Where these two fit 32 bits the sum does, and then it does not matter that MUL or ADD
  wrapped: both are right mod 2^32, and only one number of 32 bits is.
- An x in the window is not changed. One under p gets p's result; as clip(f) does not fall either,
  this is right where p's result equals that of `first`. The same holds above q.

Three windows are tried. The whole interval: the sum has to fit without help, and the output is
clipped last. The exact preimage of [low, high]: f(p) = low and f(q) = high if M <= 2^s, because f
then skips no integer, so that nothing is left to clip; accumulators of 24 bits and more are
welcome, as the sum lies in [low * 2^s, (high + 1) * 2^s). The preimage and one more on either side,
for M > 2^s: f may skip `low` itself, the neighbour is on the right side of it, and the output is
clipped again. A channel with one result throughout (M = 0; a preimage that is empty or out of
reach) becomes x = 0 and that result as C. Of the windows that are exact, the one with the fewest
passes is taken, then with the fewest operands in ACC.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.ir import dtypes
from compiler.requantisation.alu_steps import AluStep, needed_steps
from compiler.requantisation.channels import INT32, check_range
from hw.operations import AluOp

__all__ = ["Goal", "Line", "Window", "cost", "exact_steps", "goal_of", "has_exact_steps"]


@dataclass(frozen=True, slots=True)
class Line:
    """f(x) = (x * multiplier + addend) >> shift: a channel's requantisation before it clips."""

    multiplier: int
    addend: int
    shift: int

    def sum(self, x: int) -> int:
        """What is shifted."""
        return x * self.multiplier + self.addend

    def __call__(self, x: int) -> int:
        return self.sum(x) >> self.shift

    @property
    def twos(self) -> int:
        """How many factors of two the multiplier shares with 2^shift."""
        if self.multiplier == 0:
            return self.shift
        return min(self.shift, (self.multiplier & -self.multiplier).bit_length() - 1)

    def without_twos(self, count: int) -> Line:
        """The same function with `count` factors of two cancelled.

        Exact: what the addend loses is a fraction of the multiplier's last place.
        """
        return Line(self.multiplier >> count, self.addend >> count, self.shift - count)


@dataclass(frozen=True, slots=True)
class Goal:
    """clip(f(x), low, high) for x in [first, last]: all within 32 bits, and 0 among the x."""

    low: int
    high: int
    first: int
    last: int

    def clipped(self, value: int) -> int:
        return min(max(value, self.low), self.high)


def goal_of(low: int, high: int, bound: int | None) -> Goal:
    """Which outputs are wanted for which accumulators; refused outside 32 bits."""
    check_range("low", low, *INT32)
    check_range("high", high, low, INT32[1])
    if bound is None:
        return Goal(low, high, *INT32)
    check_range("bound", bound, 0, 1 << 31)
    return Goal(low, high, -bound, min(bound, INT32[1]))


@dataclass(frozen=True, slots=True)
class Window:
    """The numbers [p, q] that are let through to a line."""

    line: Line
    p: int
    q: int


def exact_steps(lines: Sequence[Line], goal: Goal) -> tuple[AluStep, ...] | None:
    """The cheapest passes that are exact; None if none are. `lines` has a function a channel."""
    found = (_passes(windows, goal) for windows in _exact(lines, goal))
    return min(found, key=cost, default=None)


def has_exact_steps(lines: Sequence[Line], goal: Goal) -> bool:
    """Whether `exact_steps` finds some: that takes less, as the first will do."""
    return next(_exact(lines, goal), None) is not None


def _exact(lines: Sequence[Line], goal: Goal) -> Iterator[list[Window]]:
    """Windows, one for each channel, that make exact passes."""
    twos = [line.twos for line in lines]
    common = [min(twos)] * len(lines)
    # Each channel's own costs shifts that differ, but where multipliers are powers of two it saves
    # MUL.
    for counts in (common, twos) if twos != common else (common,):
        reduced = [line.without_twos(count) for line, count in zip(lines, counts, strict=True)]
        for margin in (None, 0, 1):
            windows = [_window(line, goal, margin) for line in reduced]
            if _are_exact(windows, lines, goal):
                yield windows


def cost(steps: Sequence[AluStep]) -> tuple[int, int]:
    """How many passes there are, and operands in ACC."""
    return len(steps), sum(isinstance(step.operand, tuple) for step in steps)


def _window(line: Line, goal: Goal, margin: int | None) -> Window:
    """The preimage and `margin` more on either side; the whole interval where that is None."""
    if margin is None:
        return Window(line, goal.first, goal.last)
    bottom = goal.clipped(line(goal.first))
    if bottom == goal.clipped(line(goal.last)):
        return Window(Line(line.multiplier, bottom << line.shift, line.shift), 0, 0)
    under = goal.low << line.shift
    over = goal.high + 1 << line.shift
    lo = -((line.addend - under) // line.multiplier)
    hi = (over - 1 - line.addend) // line.multiplier
    return Window(line, max(goal.first, lo - margin), min(goal.last, hi + margin))


def _are_exact(windows: Sequence[Window], lines: Sequence[Line], goal: Goal) -> bool:
    """Whether passes for these windows do what `lines` do."""
    for window, line in zip(windows, lines, strict=True):
        f, p, q = window.line, window.p, window.q
        if p > q or f.sum(p) < INT32[0] or f.sum(q) > INT32[1]:
            return False
        ends = goal.clipped(line(goal.first)), goal.clipped(line(goal.last))
        if (goal.clipped(f(p)), goal.clipped(f(q))) != ends:
            return False
    return True


def _passes(windows: Sequence[Window], goal: Goal) -> tuple[AluStep, ...]:
    """The passes for exact windows."""
    return needed_steps(
        (AluOp.MAX, [window.p for window in windows], goal.first),
        (AluOp.MIN, [window.q for window in windows], goal.last),
        (AluOp.MUL, [window.line.multiplier for window in windows], 1),
        (AluOp.ADD, [dtypes.INT32.wrap(window.line.addend) for window in windows], 0),
        (AluOp.SHR, [window.line.shift for window in windows], 0),
        (AluOp.MAX, [goal.low], min(goal.low, *(each.line(each.p) for each in windows))),
        (AluOp.MIN, [goal.high], max(goal.high, *(each.line(each.q) for each in windows))),
    )
