"""The content of a search's HTML report, as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler.search.bounds import Bound, bounded_by, utilization
from tandem.compiler.search.front import Values, hypervolume, pareto_front
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.points import Point
from tandem.hw.memory_model import MemoryModel
from tandem.workbench.search.machine_text import describe

MARGIN = 1.1
"""How far the corner of the hypervolume lies beyond the worst point."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A machine that is shown beside those of the search, by its name."""

    name: str
    point: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """The content of a search's HTML report.

    Attributes
    ----------
    models
        As the command line names them.
    space, explorer, memory
        Likewise.
    points
        In the order in which they were proposed.
    marked
        The baseline first, then presets.
    command, versions
        What made the page.
    """

    models: tuple[str, ...]
    space: str
    explorer: str
    memory: str
    memory_model: MemoryModel
    objectives: tuple[Objective, ...]
    points: tuple[Point, ...]
    marked: tuple[Marked, ...]
    streams: int
    seconds: float
    command: str
    versions: tuple[tuple[str, str], ...] = ()

    @property
    def front(self) -> tuple[Point, ...]:
        """The machines of the front, best first by the first objective."""
        front = [point for point in self.points if point.front]
        return tuple(sorted(front, key=self.values))

    @property
    def valid(self) -> tuple[Point, ...]:
        """The machines that can run the networks."""
        return tuple(point for point in self.points if point.costs is not None)

    def values(self, point: Point) -> Values:
        """The objectives of a machine that can run the networks."""
        assert point.costs is not None, "valid"
        return point.costs.values(self.objectives)

    def describe(self, point: Point) -> str:
        """A machine in a few words."""
        return describe(point.config)

    def utilization(self, point: Point) -> float | None:
        """Useful multiply-accumulates of all networks as a part of what the array could do."""
        if point.costs is None:
            return None
        parts = zip(point.measured.work, point.measured.cycles, strict=True)
        shares = [(utilization(point.config, work, cycles), cycles) for work, cycles in parts]
        return sum(share * cycles for share, cycles in shares) / sum(point.measured.cycles)

    def bounds(self, point: Point) -> str:
        """How many layers are bounded by what."""
        layers = [layer for work in point.measured.work for layer in work.layers]
        found = Counter(bounded_by(layer, point.config, self.memory_model) for layer in layers)
        return ", ".join(f"{bound.value} {found[bound]}" for bound in Bound if found[bound])

    def progress(self, steps: int = 60) -> list[tuple[int, float]]:
        """Pairs of a number of machines and the volume that they dominate, of the final volume."""
        found = [self.values(point) for point in self.valid]
        if not found:
            return []
        corner = tuple(MARGIN * max(column) for column in zip(*found, strict=True))
        whole = hypervolume(_front_of(found), corner)
        ends = sorted({max(1, round(len(found) * at / steps)) for at in range(1, steps + 1)})
        return [(end, hypervolume(_front_of(found[:end]), corner) / whole) for end in ends]


def _front_of(values: Sequence[Values]) -> list[Values]:
    return [values[at] for at in pareto_front(values)]
