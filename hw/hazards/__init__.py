"""Do a program's dependence tokens order all that must be ordered? A proof, or what is missing.

>>> from hw.config import HardwareConfig
>>> from hw.isa import Assembler, MemoryId
>>> from hw.hazards import check_hazards
>>> asm = Assembler(HardwareConfig())
>>> _ = asm.load(MemoryId.ACC, sram=0, dram=0, columns=4)
>>> _ = asm.store(sram=3, dram=0x100, columns=1)    # waits for nobody
>>> _ = asm.finish()
>>> report = check_hazards(asm.build())
>>> [(race.first, race.second, race.memory.name, race.address) for race in report.races]
[(0, 1, 'ACC', 3)]

`report.raise_if_any()` turns what was found into an error. A `Gap` is what could not be looked at;
only a report without one proves anything (`report.proved`).
"""

from hw.hazards.check import check_hazards
from hw.hazards.report import Doubt, Gap, HazardError, HazardReport, Overwrite, Race

__all__ = ["Doubt", "Gap", "HazardError", "HazardReport", "Overwrite", "Race", "check_hazards"]
