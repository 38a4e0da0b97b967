"""The hardware of a system on chip, as modules of LiteX: the accelerator, its memory, a clock."""

from tandem.workbench.soc.parts.core import TandemCore
from tandem.workbench.soc.parts.cycle_counter import CycleCounter
from tandem.workbench.soc.parts.shared_memory import SharedMemory

__all__ = ["CycleCounter", "SharedMemory", "TandemCore"]
