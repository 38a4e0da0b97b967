"""What is kept within a memory limit, by hand: at each limit the cheapest choice there is."""

from __future__ import annotations

import re

import pytest

from tandem.compiler.graph.memory import peak, plan_memory
from tandem.compiler.graph.recompute.choose import MemoryLimitError, limited
from tandem.compiler.graph.recompute.steps import (
    Part,
    Runs,
    Step,
    cost_of,
    in_order,
    live_ranges_of,
)

SIZE = 1 << 10


def chain(count: int) -> list[Step]:
    """A chain of steps and its gradient: each step of the way back reads one of the way there."""
    forward = [Step(((at - 1, 0),) if at else (), (Part(SIZE),), 1.0) for at in range(count)]
    last = count - 1
    backward = [Step(((last + at, 0), (last - at, 0)), (Part(SIZE),), 1.0) for at in range(count)]
    result = Step(((2 * count - 1, 0),), (Part(SIZE, outside=True),), 1.0)
    return [*forward, *backward, result]


def check(steps: list[Step], runs: Runs, most: int) -> float:
    """Limits hold, and each read is of the right step; returns the cost."""
    assert plan_memory(live_ranges_of(steps, runs)).size <= most
    for number, run in enumerate(runs):
        wanted = steps[run.step].reads
        assert len(run.reads) == len(wanted)
        for (at, part), (source, of) in zip(run.reads, wanted, strict=True):
            assert at < number
            assert (runs[at].step, part) == (source, of)
    assert {run.step for run in runs} == {*range(len(steps))}
    return cost_of(steps, runs)


def test_what_fits_runs_once() -> None:
    steps = chain(6)
    whole = peak(live_ranges_of(steps, in_order(steps)))
    runs = limited(steps, whole)
    assert check(steps, runs, whole) == len(steps)


def test_less_memory_costs_more_runs() -> None:
    steps = chain(12)
    whole = peak(live_ranges_of(steps, in_order(steps)))
    costs = []
    for most in range(whole, 5 * SIZE, -SIZE):
        costs.append(check(steps, limited(steps, most, [12]), most))
    assert costs[0] == len(steps)
    assert costs[1] == len(steps) + 1
    assert costs == sorted(costs)


def test_what_never_fits() -> None:
    steps = chain(4)
    message = (
        r"^the tensors of the program do not fit in 1,024 bytes: with all that can be computed "
        r"again they take ([\d,]+)$"
    )
    with pytest.raises(MemoryLimitError, match=message) as error:
        limited(steps, SIZE)
    found = re.match(message, str(error.value))
    assert found is not None
    assert error.value.most == SIZE
    assert int(found[1].replace(",", "")) == error.value.least
    # A step reads two and makes one.
    assert error.value.least >= 3 * SIZE
    check(steps, limited(steps, error.value.least), error.value.least)
