"""Runs of steps, some a second time, and the memory that they take, by hand."""

from __future__ import annotations

from tandem.compiler.graph.memory import LiveRange
from tandem.compiler.graph.recompute.steps import (
    Part,
    Run,
    Step,
    cost_of,
    in_order,
    live_ranges_of,
    nested,
    ran,
    with_second_runs,
)


def step(
    *reads: int,
    size: int = 10,
    cost: float = 1.0,
    inputs: tuple[str, ...] = (),
    overwrites: tuple[str, ...] = (),
    result: bool = False,
) -> Step:
    pairs = tuple((source, 0) for source in reads)
    parts = (Part(size, result),)
    return Step(pairs, parts, cost, frozenset(inputs), frozenset(overwrites))


# Two steps, and the gradient of them: it reads both, from the last to the first.
STEPS = (step(cost=2.0), step(0, cost=4.0), step(1, cost=8.0), step(2, 0, cost=16.0))


def told(runs: tuple[Run, ...] | None) -> list[tuple[int, list[int]]] | None:
    return None if runs is None else [(run.step, [at for at, _ in run.reads]) for run in runs]


def test_sizes() -> None:
    several = Step((), (Part(3), Part(4, outside=True), Part(5)), 1.0)
    assert (several.bytes, several.has_results) == (8, True)
    assert (step().bytes, step().has_results) == (10, False)


def test_all_once() -> None:
    assert told(in_order(STEPS)) == [(0, []), (1, [0]), (2, [1]), (3, [2, 0])]
    assert with_second_runs(STEPS, {0, 1}, 2) == in_order(STEPS)
    assert with_second_runs(STEPS, {0, 1}, 0) == in_order(STEPS)
    assert cost_of(STEPS, in_order(STEPS)) == 30


def test_steps_that_run_again() -> None:
    # Nothing is kept: for the third step both run again, and the fourth reads the second run.
    found = with_second_runs(STEPS, (), 2)
    assert told(found) == [(0, []), (1, [0]), (0, []), (1, [2]), (2, [3]), (3, [4, 2])]
    assert found is not None
    assert cost_of(STEPS, found) == 36
    # With the second kept, the first runs again before the last.
    found = with_second_runs(STEPS, {1}, 2)
    assert told(found) == [(0, []), (1, [0]), (2, [1]), (0, []), (3, [2, 3])]
    found = with_second_runs(STEPS, {0}, 2)
    assert told(found) == [(0, []), (1, [0]), (1, [0]), (2, [2]), (3, [3, 0])]
    # Steps from the split on are there anyway.
    assert told(with_second_runs(STEPS, (), 1)) == [
        *((0, []), (0, []), (1, [1]), (2, [2]), (3, [3, 1])),
    ]


def test_steps_with_results_run_once() -> None:
    steps = (step(result=True), step(0), step(0))
    assert with_second_runs(steps, (), 1) == in_order(steps)


def test_inputs_that_are_overwritten() -> None:
    again = step(inputs=("w",))
    update = step(0, overwrites=("w",))
    # The second run comes before the update, or too late.
    early = (again, step(0), step(0), update)
    assert with_second_runs(early, (), 1) is not None
    late = (again, step(), step(overwrites=("w",)), step(0))
    assert with_second_runs(late, (), 2) is None
    assert with_second_runs(late, {0}, 2) == in_order(late)
    other = (again, step(), step(overwrites=("v",)), step(0))
    assert with_second_runs(other, (), 2) is not None


def test_runs_of_runs() -> None:
    found = with_second_runs(STEPS, (), 2)
    assert found is not None
    whole = ran(STEPS, found)
    assert [each.cost for each in whole] == [2, 4, 2, 4, 8, 16]
    assert [[at for at, _ in each.reads] for each in whole] == [
        *([], [0], [], [2], [3], [4, 2]),
    ]
    again = (Run(2, ()), Run(5, ((0, 0),)))
    assert nested(found, again) == (Run(0, ()), Run(3, ((0, 0),)))


def test_live_ranges() -> None:
    steps = (
        Step((), (Part(8), Part(9)), 1.0),
        Step(((0, 1),), (Part(4, outside=True), Part(5)), 1.0),
        Step(((0, 1), (1, 0)), (Part(6),), 1.0),
    )
    assert live_ranges_of(steps, in_order(steps)) == [
        LiveRange("0.0", 8, 0, 0),
        LiveRange("0.1", 9, 0, 2),
        LiveRange("1.1", 5, 1, 1),
        LiveRange("2.0", 6, 2, 2),
    ]
