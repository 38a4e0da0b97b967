"""What a search is asked for, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tandem.compiler.search.explorer_names import Explorer
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.space import Space
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.workbench.search.measure import Network


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a search goes on: one of the two is None."""

    points: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a search.

    Attributes
    ----------
    mhz
        The clock of every machine; None if the user named none.
    tune
        Trials of each layer for machines of the front; 0 for none.
    synthesise
        Machines of the front that are synthesised; 0 for none.
    explain
        Whether the machines around one are measured.
    around
        That one; by default the front's with the least product of objectives.
    beside
        Machines that are measured beside those of the search.
    """

    networks: tuple[Network, ...]
    weights: tuple[float, ...]
    space: Space
    objectives: tuple[Objective, ...]
    budget: Budget
    explorer: Explorer
    seed: int
    baseline: HardwareConfig
    memory: MemoryModel
    mhz: float | None
    storage: str | None
    jobs: int | None
    scheduler: str | None
    tune: int
    synthesise: int
    export: Path | None
    explain: bool
    around: HardwareConfig | None
    beside: tuple[HardwareConfig, ...] = ()
