"""Measured machines, as the page and the JSON have them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tandem.compiler.search.estimates import Estimate
from tandem.compiler.search.front import pareto_front
from tandem.compiler.search.objectives import Costs, Objective
from tandem.compiler.search.results import Measured
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config


@dataclass(frozen=True, slots=True)
class Point:
    """A machine with what it costs.

    Attributes
    ----------
    costs
        None if the machine cannot run the networks.
    front
        Whether no other machine is better in one objective and no worse in any.
    tuned_cycles
        With tuned schedules; None if none were tuned.
    """

    config: HardwareConfig
    measured: Measured
    estimate: Estimate
    costs: Costs | None
    front: bool = False
    tuned_cycles: int | None = None

    @property
    def streams(self) -> tuple[str, ...]:
        """Digests of the programs of each network."""
        return tuple(work.digest for work in self.measured.work)

    def as_json(self) -> dict[str, Any]:
        """The point as an entry of the command's JSON."""
        costs = self.costs
        return {
            "config": json.loads(dump_config(self.config)),
            "cycles": None if costs is None else costs.cycles,
            "area": round(self.estimate.area),
            "area_source": self.estimate.area_source,
            "resources": self.estimate.resources,
            "mhz": self.estimate.mhz,
            "clock_source": self.estimate.clock_source,
            "milliseconds": None if costs is None else costs.milliseconds,
            "dram_bytes": None if costs is None else costs.dram_bytes,
            "energy": None if costs is None else costs.energy,
            "networks": list(self.measured.cycles),
            "streams": list(self.streams),
            "front": self.front,
            "tuned_cycles": self.tuned_cycles,
            "reason": self.measured.reason or None,
        }


def with_front(points: Sequence[Point], objectives: Sequence[Objective]) -> tuple[Point, ...]:
    """The points, marked which of them are on the front."""
    valid = [at for at, point in enumerate(points) if point.costs is not None]
    values = [costs.values(objectives) for point in points if (costs := point.costs) is not None]
    front = {valid[at] for at in pareto_front(values)}
    return tuple(replace(point, front=at in front) for at, point in enumerate(points))
