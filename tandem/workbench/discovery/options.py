"""What `discover` is asked for, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tandem.compiler.machines.accelerator.discovery.costs import Budget
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.workbench.search.measure import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a search for operations.

    Attributes
    ----------
    networks
        What the operations are chosen for.
    held_out
        What the choice does not see: compiled at the end.
    share, dsp
        What the operations may take: look-up tables, as a part of the machine's, and multiplier
        blocks.
    finalists
        The number of sets whose networks are compiled.
    synthesise
        Whether Yosys counts the gates of the base machine and of finalists, best first, until one
        is within the budget.
    judged
        The file of what was judged; None for one in the cache.
    jobs
        Processes; None: one a core.
    """

    networks: tuple[Network, ...]
    held_out: tuple[Network, ...]
    baseline: HardwareConfig
    memory: MemoryModel
    share: float
    dsp: int
    finalists: int
    synthesise: bool
    judged: Path | None
    jobs: int | None

    @property
    def budget(self) -> Budget:
        """What the operations may take."""
        return Budget(self.share, self.dsp)
