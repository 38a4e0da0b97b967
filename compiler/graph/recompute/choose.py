"""The choice of what is kept, so that a memory limit holds with little computed again.

Three parts: cuts of the steps before a split into segments, of which only what crosses a cut is
kept, for many sizes of segments; of those plans that fit the one that costs least, to which kept
values are added as long as it fits, the dearest for their size first; and, if no plan fits, values
taken away as long as that helps. If that does not fit either, a choice is made of its own runs, so
that steps run a third time and more often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.memory import peak, plan_memory
from tandem.compiler.graph.recompute.early import early_results
from tandem.compiler.graph.recompute.steps import (
    Runs,
    Step,
    cost_of,
    in_order,
    live_ranges_of,
    nested,
    ran,
    with_second_runs,
)

_SIZES = 24
"""The sizes of segments that are tried, each a part smaller than the one before."""
_PART = 0.8
_ROUNDS = 4
"""How often a choice is made, each of the runs that the one before has come to."""


class MemoryLimitError(GraphError):
    """No choice of what is computed again fits a memory limit.

    Attributes
    ----------
    least
        The bytes of the smallest plan that was found.
    """

    def __init__(self, most: int, least: int) -> None:
        super().__init__(
            f"the tensors of the program do not fit in {most:,} bytes: with all that can be "
            f"computed again they take {least:,}"
        )
        self.most = most
        self.least = least


@dataclass(frozen=True, slots=True)
class _Plan:
    """A choice of what is kept, and what it comes to.

    Attributes
    ----------
    order
        The runs, with results where the program has them.
    runs
        The same with results early, as they are planned.
    peak
        The bytes that are live at a time; a plan takes these or a little more.
    """

    kept: frozenset[int]
    split: int
    order: Runs = field(repr=False)
    runs: Runs = field(repr=False)
    peak: int
    cost: float


def limited(steps: Sequence[Step], most: int, splits: Sequence[int] = ()) -> Runs:
    """Runs of the steps whose planned memory is at most `most` bytes.

    Where no choice of second runs fits, the smallest of them is taken for the program, of whose
    runs some may run again, and so on as long as the least that is found becomes smaller.

    Parameters
    ----------
    splits
        Steps from which on others may run again, to be tried beside that of the greatest memory: of
        a gradient, where it begins.

    Raises
    ------
    MemoryLimitError
        None is found.
    """
    order, least = in_order(steps), -1
    for _ in range(_ROUNDS):
        whole = early_results(steps, order)
        if _size(steps, whole) <= most:
            return whole
        found, smallest = _fitted(ran(steps, order), most, splits)
        if found is not None:
            return nested(order, found.runs)
        size = _size(steps, nested(order, smallest.runs))
        order = nested(order, smallest.order)
        if 0 <= least <= size:
            break
        least, splits = size, ()
    raise MemoryLimitError(most, least)


def _fitted(steps: Sequence[Step], most: int, splits: Sequence[int]) -> tuple[_Plan | None, _Plan]:
    """A plan that fits, or None, and then the smallest one that was found."""
    tried = sorted({*splits, _time_of_peak(steps, early_results(steps, in_order(steps)))} - {0})
    plans = [plan for split in tried or [0] for plan in _segmented(steps, split)]
    smallest: _Plan | None = None
    bound = most
    # Tensors may not lie as close as they could: the difference goes off the bound.
    for _ in range(4):
        fitting = [plan for plan in plans if plan.peak <= bound]
        if not fitting:
            smallest = smallest or _shrunk(steps, min(plans, key=lambda plan: plan.peak))
            fitting = [smallest] if smallest.peak <= bound else []
        if not fitting:
            break
        best = sorted(fitting, key=lambda plan: plan.cost)[:3]
        found = min((_grown(steps, plan, bound) for plan in best), key=lambda plan: plan.cost)
        size = _size(steps, found.runs)
        if size <= most:
            return found, found
        bound -= size - most
    smallest = smallest or _shrunk(steps, min(plans, key=lambda plan: plan.peak))
    return smallest if _size(steps, smallest.runs) <= most else None, smallest


def _size(steps: Sequence[Step], runs: Runs) -> int:
    return plan_memory(live_ranges_of(steps, runs)).size


def _time_of_peak(steps: Sequence[Step], runs: Runs) -> int:
    """The number of the step during which most memory is live."""
    changes = [0] * (len(runs) + 1)
    for live in live_ranges_of(steps, runs):
        changes[live.first] += live.size
        changes[live.last + 1] -= live.size
    live_bytes, greatest, found = 0, -1, 0
    for number, change in enumerate(changes[:-1]):
        live_bytes += change
        if live_bytes > greatest:
            greatest, found = live_bytes, runs[number].step
    return found


def _plan(steps: Sequence[Step], kept: frozenset[int], split: int) -> _Plan | None:
    """What a choice comes to; None if it is not possible."""
    found = with_second_runs(steps, kept, split)
    if found is None:
        return None
    runs = early_results(steps, found)
    return _Plan(kept, split, found, runs, peak(live_ranges_of(steps, runs)), cost_of(steps, runs))


def _shrunk(steps: Sequence[Step], plan: _Plan) -> _Plan:
    """The plan without what makes it smaller when it is not kept."""
    for number in sorted(plan.kept, key=lambda at: -steps[at].bytes):
        less = _plan(steps, plan.kept - {number}, plan.split)
        plan = less if less is not None and less.peak < plan.peak else plan
    return plan


def _grown(steps: Sequence[Step], plan: _Plan, most: int) -> _Plan:
    """The plan with more that is kept, as far as it fits."""
    twice = [number for number, times in Counter(it.step for it in plan.runs).items() if times > 1]
    for number in sorted(twice, key=lambda at: -steps[at].cost / max(1, steps[at].bytes)):
        more = _plan(steps, plan.kept | {number}, plan.split)
        if more is not None and more.peak <= most and more.cost < plan.cost:
            plan = more
    return plan


def _segmented(steps: Sequence[Step], split: int) -> Iterator[_Plan]:
    """Plans that keep what crosses the cuts between segments, for segments of many sizes."""
    whole = _plan(steps, frozenset(range(split)), split)
    assert whole is not None, "without second runs"
    yield whole
    saved, crossing = _saved(steps, split), _crossing(steps, split)
    size = float(sum(steps[number].bytes for number in saved))
    seen: set[frozenset[int]] = set()
    for _ in range(_SIZES):
        kept = _kept(steps, split, saved, crossing, size)
        plan = None if kept in seen else _plan(steps, kept, split)
        seen.add(kept)
        if plan is not None:
            yield plan
        size *= _PART


def _saved(steps: Sequence[Step], split: int) -> set[int]:
    """The steps before the split that later ones read."""
    return {source for step in steps[split:] for source, _ in step.reads if source < split}


def _crossing(steps: Sequence[Step], split: int) -> list[frozenset[int]]:
    """For each step before the split the steps before it that it or others before the split read:
    what a cut in front of it keeps."""
    last: dict[int, int] = {}
    for number, step in enumerate(steps[:split]):
        last.update((source, number) for source, _ in step.reads)
    ends: dict[int, list[int]] = {}
    for source, number in last.items():
        ends.setdefault(number, []).append(source)
    live: set[int] = set()
    found = []
    for number in range(split):
        found.append(frozenset(live))
        if number in last:
            live.add(number)
        live.difference_update(ends.get(number, ()))
    return found


def _kept(
    steps: Sequence[Step],
    split: int,
    saved: set[int],
    crossing: Sequence[frozenset[int]],
    size: float,
) -> frozenset[int]:
    """What is kept if segments have about `size` bytes that later steps need: each ends where least
    crosses, in its second half."""
    weights = [sum(steps[at].bytes for at in names) for names in crossing]
    kept: set[int] = set()
    held, best = 0, -1
    number = begin = 0
    while number < split:
        if held > size / 2 and (best < 0 or weights[number] <= weights[best]):
            best = number
        held += steps[number].bytes if number in saved else 0
        number += 1
        if held > size and best >= 0:
            kept |= crossing[best]
            number, held, best = best, 0, -1
            held += steps[number].bytes if number in saved else 0
            begin = number
            number += 1
    # What the last segment computes is needed at once.
    return frozenset(kept | {at for at in saved if at >= begin})
