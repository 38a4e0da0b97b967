"""Results that are computed as soon as they can be, so that their operands need not wait.

A step of training updates its weights behind all gradients: these would wait for the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from tandem.compiler.graph.recompute.steps import Run, Runs, Step

_SMALL = 64
"""Bytes that do not matter: one unit of a plan."""


def early_results(steps: Sequence[Step], runs: Runs) -> Runs:
    """The runs in an order in which those move forward that take no memory: of results, and of
    numbers for them.

    A run does not move before one whose tensors it reads, nor before one that reads an input of
    the program in whose memory its own results lie.
    """
    readers: dict[str, list[int]] = {}
    for number, run in enumerate(runs):
        for name in steps[run.step].reads_inputs:
            readers.setdefault(name, []).append(number)
    tickets = count()
    places: list[tuple[int, int]] = []
    """For each run the run behind which it stands, or itself, and its number among those there."""
    for number, run in enumerate(runs):
        step = steps[run.step]
        place = number
        if step.bytes <= _SMALL:
            before = [places[source][0] for source, _ in run.reads]
            # A run that reads such an input may have moved forward itself, which is no matter.
            before += [
                at for name in step.overwrites for at in readers.get(name, ()) if at < number
            ]
            place = max(before, default=-1)
        places.append((place, next(tickets)))
    order = sorted(range(len(runs)), key=lambda number: places[number])
    moved = {old: new for new, old in enumerate(order)}
    return tuple(
        Run(
            runs[old].step,
            tuple((moved[source], part) for source, part in runs[old].reads),
        )
        for old in order
    )
