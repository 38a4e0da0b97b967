"""Results that move forward, by hand."""

from __future__ import annotations

from tandem.compiler.graph.recompute.early import early_results
from tandem.compiler.graph.recompute.steps import Part, Run, Step

LARGE, SMALL, RESULT = Part(65), Part(64), Part(1000, outside=True)


def step(
    part: Part, *reads: int, inputs: tuple[str, ...] = (), overwrites: tuple[str, ...] = ()
) -> Step:
    pairs = tuple((source, 0) for source in reads)
    return Step(pairs, (part,), 1.0, frozenset(inputs), frozenset(overwrites))


def order(*steps: Step) -> list[int]:
    """The steps in their new order; reads follow."""
    runs = tuple(Run(number, each.reads) for number, each in enumerate(steps))
    found = early_results(steps, runs)
    at = {run.step: place for place, run in enumerate(found)}
    for run in found:
        assert run.reads == tuple((at[source], part) for source, part in steps[run.step].reads)
    return [run.step for run in found]


def test_what_takes_memory_stays() -> None:
    assert order(step(LARGE), step(LARGE, 0), step(LARGE, 0)) == [0, 1, 2]


def test_results_move_behind_what_they_read() -> None:
    assert order(step(LARGE), step(LARGE, 0), step(LARGE, 1), step(RESULT, 0)) == [0, 3, 1, 2]
    # A number of 64 bytes, or what is made of it.
    found = order(step(LARGE), step(LARGE, 0), step(SMALL, 0), step(RESULT, 2, 0))
    assert found == [0, 2, 3, 1]
    # Of what reads nothing, to the begin.
    assert order(step(LARGE), step(SMALL)) == [1, 0]


def test_results_stay_behind_readers_of_the_input_in_whose_memory_they_lie() -> None:
    reader = step(LARGE, 0, inputs=("w",))
    update = step(RESULT, 0, overwrites=("w",))
    assert order(step(LARGE), reader, step(LARGE, 1), update) == [0, 1, 3, 2]
    # Another input is no matter, nor one that is read later.
    other = step(LARGE, 0, inputs=("v",))
    assert order(step(LARGE), other, step(LARGE, 1), update) == [0, 3, 1, 2]
    moved = order(step(LARGE), step(LARGE, 0), update, step(LARGE, 1, inputs=("w",)))
    assert moved == [0, 2, 1, 3]
