"""What `tandem search` was asked for, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hw.config import HardwareConfig
from hw.memory_model import MemoryModel
from scripts.search.budget import Budget
from scripts.search.explorer_names import Explorer
from scripts.search.measure import Network
from scripts.search.objectives import Objective
from scripts.search.space import Space
from scripts.utilization.plot import Plot


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a search.

    Attributes
    ----------
    memory
        As the command line names it.
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
    """

    networks: tuple[Network, ...]
    weights: tuple[float, ...]
    space: Space
    objectives: tuple[Objective, ...]
    budget: Budget
    explorer: Explorer
    seed: int
    baseline: HardwareConfig
    memory: str
    memory_model: MemoryModel
    mhz: float | None
    storage: str | None
    jobs: int | None
    scheduler: str | None
    tune: int
    synthesise: int
    export: Path | None
    report: Path | None
    plot: Plot | None
    explain: bool
    around: HardwareConfig | None
