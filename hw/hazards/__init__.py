"""Checks that a program's dependence tokens order every conflicting access: a proof, or the races.

>>> from tandem.hw.config import HardwareConfig
>>> from tandem.hw.isa import Assembler, MemoryId
>>> from tandem.hw.hazards import check_hazards
>>> asm = Assembler(HardwareConfig())
>>> _ = asm.load(MemoryId.ACC, sram=0, dram=0, columns=4)
>>> _ = asm.store(sram=3, dram=0x100, columns=1)    # waits for no token
>>> _ = asm.finish()
>>> report = check_hazards(asm.build())
>>> [(race.first, race.second, race.memory.name, race.address) for race in report.races]
[(0, 1, 'ACC', 3)]

`report.raise_if_any()` raises the first finding. `Unchecked` lists instructions whose accesses are
not known; a report with such instructions proves nothing (`report.proved`).
"""

from tandem.hw.hazards.check import check_hazards
from tandem.hw.hazards.hazard_report import (
    HazardError,
    HazardReport,
    Overwrite,
    Race,
    Unchecked,
    Unknown,
)

__all__ = [
    "HazardError",
    "HazardReport",
    "Overwrite",
    "Race",
    "Unchecked",
    "Unknown",
    "check_hazards",
]
