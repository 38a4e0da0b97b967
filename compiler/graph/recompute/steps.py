"""Steps of a program, their order, in which some run twice, and the memory that takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tandem.compiler.graph.memory import LiveRange


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor that a step computes.

    Attributes
    ----------
    bytes
        Its size.
    outside
        Whether it lies outside the memory that is limited, from its step to the end: a result.
    """

    bytes: int
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a kernel.

    Attributes
    ----------
    reads
        The tensors that it reads, as numbers of steps before and of their parts.
    parts
        The tensors that it computes.
    cost
        An estimate of the time that it takes, in any unit.
    reads_inputs
        The inputs of the program that it reads.
    overwrites
        The inputs of the program in whose memory its results lie: nothing reads them later.
    """

    reads: tuple[tuple[int, int], ...]
    parts: tuple[Part, ...]
    cost: float
    reads_inputs: frozenset[str] = frozenset()
    overwrites: frozenset[str] = frozenset()

    @property
    def bytes(self) -> int:
        """The memory of all its tensors."""
        return sum(part.bytes for part in self.parts if not part.outside)

    @property
    def has_results(self) -> bool:
        """Whether a result of the program is among its tensors."""
        return any(part.outside for part in self.parts)


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a step; a step may have several.

    Attributes
    ----------
    step
        The step's number.
    reads
        For each tensor that the step reads the run before that computes it, and the part.
    """

    step: int
    reads: tuple[tuple[int, int], ...]


Runs: TypeAlias = tuple[Run, ...]


def in_order(steps: Sequence[Step]) -> Runs:
    """Each step once."""
    return tuple(Run(number, step.reads) for number, step in enumerate(steps))


def with_second_runs(steps: Sequence[Step], kept: Collection[int], split: int) -> Runs | None:
    """Steps in order, in which steps from `split` on read no tensor of a step before it that is not
    `kept`: such a step runs again before the first that needs it, after those that it needs itself.

    Tensors of the second run are live until they are read for the last time. A step with results is
    always kept. None if a second run would read an input of the program behind the step that
    overwrites it.
    """
    runs: list[Run] = []
    first: list[int] = []
    second: dict[int, int] = {}
    lost: set[str] = set()

    def is_again(number: int) -> bool:
        return number < split and number not in kept and not steps[number].has_results

    def needed(number: int) -> list[int]:
        """The steps that have to run again before a step, which is one of them, in order."""
        found, waiting = {number}, [number]
        while waiting:
            for source, _ in steps[waiting.pop()].reads:
                if is_again(source) and source not in second and source not in found:
                    found.add(source)
                    waiting.append(source)
        return sorted(found)

    def read(number: int) -> tuple[tuple[int, int], ...]:
        return tuple(
            (second[source] if is_again(source) else first[source], part)
            for source, part in steps[number].reads
        )

    for number, step in enumerate(steps):
        if number < split:
            own = tuple((first[source], part) for source, part in step.reads)
        else:
            for again in needed(number)[:-1]:
                if lost & steps[again].reads_inputs:
                    return None
                runs.append(Run(again, read(again)))
                second[again] = len(runs) - 1
            own = read(number)
        first.append(len(runs))
        runs.append(Run(number, own))
        lost |= step.overwrites
    return tuple(runs)


def ran(steps: Sequence[Step], runs: Runs) -> list[Step]:
    """The steps of a program that consists of runs of others: each run is a step."""
    return [replace(steps[run.step], reads=run.reads) for run in runs]


def nested(runs: Runs, again: Runs) -> Runs:
    """Runs of the steps that `runs` are of, where `again` are runs of what `ran` makes of them."""
    return tuple(replace(run, step=runs[run.step].step) for run in again)


def live_ranges_of(steps: Sequence[Step], runs: Runs) -> list[LiveRange]:
    """The live ranges of all tensors in the memory that is limited; times are numbers of runs."""
    last: dict[tuple[int, int], int] = {}
    for number, run in enumerate(runs):
        for read in run.reads:
            last[read] = number
    return [
        LiveRange(f"{number}.{at}", part.bytes, number, last.get((number, at), number))
        for number, run in enumerate(runs)
        for at, part in enumerate(steps[run.step].parts)
        if not part.outside
    ]


def cost_of(steps: Sequence[Step], runs: Runs) -> float:
    """The estimated time of all runs."""
    return sum(steps[run.step].cost for run in runs)
