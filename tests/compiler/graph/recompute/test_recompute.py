"""Second runs: they read what they need, the memory of their order is what a walk finds, and limits
hold or are refused with what is possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.graph.memory import peak, plan_memory
from tandem.compiler.graph.recompute import MemoryLimitError, Part, Run, Step, limited
from tandem.compiler.graph.recompute.early import early_results
from tandem.compiler.graph.recompute.steps import (
    cost_of,
    in_order,
    live_ranges_of,
    with_second_runs,
)

UNIT = 64


def chain(length: int) -> list[Step]:
    """A network of equal layers, and its gradient: layer n behind needs the values of layer n."""
    ahead = [
        Step(((number - 1, 0),) if number else (), (Part(UNIT),), 1.0) for number in range(length)
    ]
    behind = [
        Step(((length - 1 - at, 0), (length - 1 + at, 0)), (Part(UNIT, at == length - 1),), 1.0)
        for at in range(length)
    ]
    return [*ahead, *behind]


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 14))):
        parts = [
            Part(draw(st.integers(0, 5)) * UNIT, draw(st.integers(0, 4)) == 0)
            for _ in range(draw(st.integers(1, 2)))
        ]
        sources = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        reads = [(at, draw(st.integers(0, len(steps[at].parts) - 1))) for at in sources]
        inputs = draw(st.frozensets(st.sampled_from("wuv"), max_size=2))
        steps.append(Step(tuple(sorted(reads)), tuple(parts), draw(st.integers(1, 9)), inputs))
    # The last reader of an input may overwrite it.
    for name in "wuv":
        readers = [at for at, step in enumerate(steps) if name in step.reads_inputs]
        if readers and steps[readers[-1]].has_results and draw(st.booleans()):
            last = steps[readers[-1]]
            steps[readers[-1]] = Step(
                *(last.reads, last.parts, last.cost, last.reads_inputs),
                last.overwrites | {name},
            )
    return steps


def check(steps: Sequence[Step], runs: Sequence[Run], most: int = 2) -> None:
    """Each step runs, at most so often, of what it reads; no overwritten input is read later."""
    counts = [0] * len(steps)
    lost: set[str] = set()
    for number, run in enumerate(runs):
        step = steps[run.step]
        counts[run.step] += 1
        assert not lost & step.reads_inputs
        lost |= step.overwrites
        assert len(run.reads) == len(step.reads)
        for (read, part), (source, own) in zip(run.reads, step.reads, strict=True):
            assert read < number
            assert (runs[read].step, part) == (source, own)
    for count, step in zip(counts, steps, strict=True):
        assert 1 <= count <= (1 if step.has_results else most)


@settings(max_examples=100)
@given(programs(), st.data())
def test_second_runs_read_what_their_steps_do(steps: list[Step], data: st.DataObject) -> None:
    split = data.draw(st.integers(0, len(steps)))
    kept = data.draw(st.sets(st.integers(0, len(steps) - 1)))
    runs = with_second_runs(steps, kept, split)
    if runs is None:
        assert any(step.overwrites for step in steps)
        return
    check(steps, runs)
    check(steps, early_results(steps, runs))
    # Nothing that is dropped is read from its first run behind the split.
    for run in runs[split:]:
        for read, _ in run.reads:
            step = runs[read].step
            if step < split and step not in kept and not steps[step].has_results:
                assert read >= split
    assert with_second_runs(steps, range(len(steps)), split) == in_order(steps)


@settings(max_examples=100)
@given(programs())
def test_early_results_take_no_memory(steps: list[Step]) -> None:
    whole = in_order(steps)
    early = early_results(steps, whole)
    assert sorted(run.step for run in early) == [*range(len(steps))]
    small = sum(step.bytes for step in steps if 0 < step.bytes <= UNIT)
    before, after = (peak(live_ranges_of(steps, runs)) for runs in (whole, early))
    assert after <= before + small


@settings(max_examples=60, deadline=None)
@given(programs(), st.floats(0.0, 1.2))
def test_a_limit_holds_or_is_refused(steps: list[Step], part: float) -> None:
    whole = plan_memory(live_ranges_of(steps, in_order(steps))).size
    most = int(whole * part)
    refused = None
    try:
        runs = limited(steps, most)
    except MemoryLimitError as error:
        refused = error
    if refused is not None:
        assert refused.least > most == refused.most
        # What is named as possible is possible.
        most = refused.least
        runs = limited(steps, most)
    check(steps, runs, 1 << 4)
    assert plan_memory(live_ranges_of(steps, runs)).size <= most


def test_without_need_nothing_runs_twice() -> None:
    steps = chain(9)
    whole = plan_memory(live_ranges_of(steps, in_order(steps))).size
    assert limited(steps, whole) == in_order(steps)


@pytest.mark.parametrize("length", [4, 16, 64])
def test_chains_need_the_root_of_their_length(length: int) -> None:
    """Chen et al.: segments of the root of the length, with one more run of each layer."""
    steps = chain(length)
    runs = limited(steps, int(2 * length**0.5 + 4) * UNIT)
    check(steps, runs)
    assert cost_of(steps, runs) <= 3 * length


@pytest.mark.parametrize(("length", "least"), [(16, 7), (64, 13)])
def test_chains_need_less_where_layers_run_a_third_time(length: int, least: int) -> None:
    """Below 2 sqrt(length): segments of segments."""
    steps = chain(length)
    with pytest.raises(MemoryLimitError) as caught:
        limited(steps, 0)
    assert caught.value.least <= least * UNIT < 2 * length**0.5 * UNIT
    runs = limited(steps, caught.value.least)
    check(steps, runs, 1 << 4)
    assert max(Counter(run.step for run in runs).values()) >= 3
    assert cost_of(steps, runs) <= 4 * length


def test_more_memory_costs_less() -> None:
    steps = chain(36)
    costs = [cost_of(steps, limited(steps, units * UNIT)) for units in (16, 20, 25, 30, 36, 40)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-2] >= costs[-1] == 2 * 36


def test_what_is_dear_is_kept() -> None:
    """Of two layers of equal size the cheap one runs twice."""
    steps = [
        Step((), (Part(UNIT),), 1.0),
        Step(((0, 0),), (Part(UNIT),), 100.0),
        Step(((1, 0),), (Part(UNIT),), 1.0),
        Step(((2, 0),), (Part(UNIT),), 1.0),
        Step(((3, 0),), (Part(0),), 1.0),
        Step(((4, 0), (2, 0)), (Part(UNIT),), 1.0),
        Step(((5, 0), (1, 0)), (Part(UNIT),), 1.0),
        Step(((6, 0), (0, 0)), (Part(UNIT, True),), 1.0),
    ]
    whole = plan_memory(live_ranges_of(steps, in_order(steps))).size
    runs = limited(steps, whole - UNIT)
    assert [run.step for run in runs].count(1) == 1
    assert cost_of(steps, runs) < sum(step.cost for step in steps) + 10


def test_what_is_said_where_a_limit_does_not_hold() -> None:
    with pytest.raises(MemoryLimitError, match=r"do not fit in 100 bytes: .* they take \d+$"):
        limited(chain(4), 100)
