"""A check that a program stays inside its memory image."""

from __future__ import annotations

import numpy as np

from tandem.hw.isa import Program, dram_ranges, validate
from tandem.sim.errors import MemoryImageError


def check_image_bounds(program: Program, image_bytes: int) -> None:
    """Refuse a program that reads or writes beyond the image; all base registers are 0.

    Memory beyond the image exists (the rest of the page, and the program), but data written there
    would be lost, and data read from there is undefined.

    Raises
    ------
    ProgramError
        The program is illegal.
    MemoryImageError
        An address is beyond the image; the message names the first such instruction and its bytes.
    """
    validate(program)
    ranges = dram_ranges(program)
    beyond = ranges.end > image_bytes
    if beyond.any():
        position = int(np.argmax(beyond))
        verb = "writes" if ranges.is_write[position] else "reads"
        raise MemoryImageError(
            f"instruction {position} {verb} bytes {int(ranges.first[position]):#x}.."
            f"{int(ranges.end[position]):#x} (end excluded): the image ends at {image_bytes:#x}"
        )
