"""A search: batches of machines proposed, measured and stored, until the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from tandem.compiler.errors import SearchError
from tandem.compiler.search.estimates import Estimate, Estimator
from tandem.compiler.search.learned import Learned
from tandem.compiler.search.objectives import Objective, costs_of
from tandem.compiler.search.points import Point
from tandem.compiler.search.proposals import Finished, Proposal, Proposer
from tandem.compiler.search.results import Measured, Results
from tandem.compiler.search.storage import Storage, Stored
from tandem.compiler.search.work import Group, Times
from tandem.compiler.tune.pool import Pool
from tandem.hw.config import HardwareConfig

Expired = Callable[[], bool]
Show = Callable[[int, int], None]
"""Called with the number of finished points and of streams."""


@dataclass(frozen=True)
class Search:
    """What a search consists of.

    Attributes
    ----------
    task
        What the pool measures machines with, and all measurements share.
    weights
        Of each network.
    code_of
        What the programs of a machine are compiled for: equal ones have the same programs.
    """

    task: Any
    objectives: tuple[Objective, ...]
    weights: tuple[float, ...]
    proposer: Proposer
    estimator: Estimator
    pool: Pool[Times]
    results: Results
    code_of: Callable[[HardwareConfig], HardwareConfig]

    def with_samples(self, learned: Learned) -> Search:
        """The same search with models that learned from more machines."""
        estimator = replace(self.estimator, learned=learned)
        proposer = replace(self.proposer, allowed=estimator.allowed)
        return replace(self, estimator=estimator, proposer=proposer)

    def point(
        self, config: HardwareConfig, measured: Measured, estimate: Estimate | None = None
    ) -> Point:
        """A measured machine with its costs, by the models or by another estimate."""
        estimate = estimate or self.estimator.estimate(config)
        costs = None
        if not measured.reason:
            costs = costs_of(
                config, measured.cycles, measured.work, self.weights, estimate.area, estimate.mhz
            )
        return Point(config, measured, estimate, costs)

    def measure(self, machines: Sequence[HardwareConfig]) -> Iterator[tuple[int, Measured]]:
        """Results of machines with their positions, as they come; known ones first."""
        groups: dict[HardwareConfig, list[int]] = {}
        for at, machine in enumerate(machines):
            known = self.results.get(machine)
            if known is None:
                groups.setdefault(self.code_of(machine), []).append(at)
            else:
                yield at, known
        jobs = [
            Group(code, tuple(machines[at] for at in members)) for code, members in groups.items()
        ]
        places = [*groups.values()]
        for number, times in self.pool.measure(self.task, jobs, inf):
            for member, at in enumerate(places[number]):
                cycles, reason = times.of(member)
                measured = Measured(cycles, times.work if cycles else (), reason)
                self.results.put(machines[at], measured)
                yield at, measured

    def measured_points(self, machines: Sequence[HardwareConfig]) -> list[Point]:
        """Machines measured, in their order."""
        measured = dict(self.measure(machines))
        return [self.point(machine, measured[at]) for at, machine in enumerate(machines)]

    def run(
        self, storage: Storage, most: int | None, expired: Expired, show: Show
    ) -> tuple[Point, ...]:
        """The points of a search, in the order in which they were proposed.

        Parameters
        ----------
        most
            The number of points; None without a limit.
        expired
            Whether no further batch may begin.

        Raises
        ------
        SearchError
            The storage has machines of another search.
        """
        space = self.proposer.space
        stored = storage.stored()
        history: list[Stored] = []
        streams: set[tuple[str, ...]] = set()
        batch = 0
        while most is None or len(history) < most:
            if expired() and not _later(stored, batch):
                break
            proposals = self.proposer.batch(batch, [one.finished for one in history])
            if not proposals:
                break
            if most is not None:
                proposals = proposals[: most - len(history)]
            done = {
                place: stored[batch, place]
                for place in range(len(proposals))
                if (batch, place) in stored
            }
            _check(proposals, done)
            missing = [place for place in range(len(proposals)) if place not in done]
            machines = [space.machine(proposals[place].indices) for place in missing]
            for number, measured in self.measure(machines):
                point = self.point(machines[number], measured)
                values = None if point.costs is None else point.costs.values(self.objectives)
                place = missing[number]
                done[place] = Stored(Finished(proposals[place], values), measured)
                storage.add((batch, place), done[place])
                streams.add(tuple(work.digest for work in measured.work))
                show(len(history) + len(done), len(streams))
            history += (done[place] for place in range(len(proposals)))
            batch += 1
        return tuple(
            self.point(space.machine(one.finished.proposal.indices), one.measured)
            for one in history
        )


def _later(stored: dict[tuple[int, int], Stored], batch: int) -> bool:
    """Whether an earlier run has finished machines of this batch or a later one."""
    return any(number >= batch for number, _ in stored)


def _check(proposals: Sequence[Proposal], done: dict[int, Stored]) -> None:
    for place, one in done.items():
        if one.finished.proposal.indices != proposals[place].indices:
            raise SearchError(
                "the storage has the machines of another search, or of other versions of Tandem "
                "and Optuna; name another one with --storage"
            )
