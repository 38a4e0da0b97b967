"""What machines are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tandem.compiler.search.work import StreamWork
from tandem.hw.config import HardwareConfig
from tandem.hw.energy import Operations, energy_pj


class Objective(Enum):
    """A number that is to be small, by its name."""

    CYCLES = "cycles"
    MILLISECONDS = "milliseconds"
    """Of all networks, at the machine's clock."""
    AREA = "area"
    """In NAND2 equivalents (`hw.area`)."""
    DRAM_BYTES = "dram_bytes"
    ENERGY = "energy"
    """In microjoules (`hw.energy`)."""

    @property
    def unit(self) -> str:
        """As shown behind a number; empty for a plain number."""
        match self:
            case Objective.CYCLES:
                return ""
            case Objective.MILLISECONDS:
                return "ms"
            case Objective.AREA:
                return "NAND2"
            case Objective.DRAM_BYTES:
                return "bytes"
            case Objective.ENERGY:
                return "uJ"


@dataclass(frozen=True, slots=True)
class Costs:
    """All objectives of a machine; sums over the networks, with their weights."""

    cycles: float
    milliseconds: float
    area: float
    dram_bytes: float
    energy: float

    def values(self, objectives: Sequence[Objective]) -> tuple[float, ...]:
        """Some of them, in this order."""
        return tuple(float(getattr(self, objective.value)) for objective in objectives)


def costs_of(
    config: HardwareConfig,
    cycles: Sequence[int],
    work: Sequence[StreamWork],
    weights: Sequence[float],
    area: float,
    mhz: float,
) -> Costs:
    """The costs of a machine.

    Parameters
    ----------
    cycles, work, weights
        For each network.
    area
        In NAND2 equivalents.
    """

    def weighted(values: Sequence[float]) -> float:
        return sum(weight * value for weight, value in zip(weights, values, strict=True))

    picojoules = [
        energy_pj(config, Operations(network.gemm_uops, network.alu_uops, network.dram_bytes))
        for network in work
    ]
    total = weighted(cycles)
    return Costs(
        cycles=int(total) if total == int(total) else total,
        milliseconds=total / (1e3 * mhz),
        area=area,
        dram_bytes=weighted([each.dram_bytes for each in work]),
        energy=weighted(picojoules) / 1e6,
    )
