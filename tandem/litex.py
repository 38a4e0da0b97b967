"""The accelerator for systems of LiteX, on any of its boards.

    from tandem.litex import add_tandem

    add_tandem(soc, "build/small8-x", origin=0x9000_0000)    # what `tandem rtl -o` wrote

LiteX comes with `pip install 'tandem-workbench[soc]'`.
"""

from __future__ import annotations

from tandem.workbench.soc.parts.core import TandemCore, add_tandem
from tandem.workbench.soc.parts.cycle_counter import CycleCounter
from tandem.workbench.soc.parts.shared_memory import SharedMemory

__all__ = ["CycleCounter", "SharedMemory", "TandemCore", "add_tandem"]
