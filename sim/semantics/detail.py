"""Details of a fault, which compiled code leaves in an array beside the returned code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.hw.faults import Fault

Detail = npt.NDArray[np.int64]
"""Details of one fault, indexed by the constants below."""

NONE = int(Fault.NONE)
SHIFT = int(Fault.SHIFT)
SRAM_INDEX = int(Fault.SRAM_INDEX)
BUS_READ = int(Fault.BUS_READ)
BUS_WRITE = int(Fault.BUS_WRITE)

POSITION = 0
"""SRAM_INDEX, SHIFT: micro-ops that the instruction had completed."""
MEMORY = 1
"""SRAM_INDEX: the memory."""
INDEX = 2
"""SRAM_INDEX: the index; SHIFT: the element."""
VALUE = 3
"""SHIFT: the amount."""
FIRST_BYTE = 4
"""BUS_READ, BUS_WRITE: the first address of the row."""
END_BYTE = 5
"""BUS_READ, BUS_WRITE: one past the last address of the row."""


def make_detail() -> Detail:
    """An array for the details of one fault."""
    return np.zeros(6, dtype=np.int64)
