"""Does a program stay inside its memory image?"""

from __future__ import annotations

import numpy as np

from hw.isa import Program, dram_ranges, validate
from sim.errors import MemoryImageError

__all__ = ["check_image_bounds"]


def check_image_bounds(program: Program, image_bytes: int) -> None:
    """Refuse a program that reads or writes beyond the image, all base registers being 0.

    There is memory there, pages are filled up and the program may lie above, but what a program
    leaves there would be lost, and what it finds there is nobody's data.

    Raises
    ------
    ProgramError
        The program is illegal.
    MemoryImageError
        Names the first instruction that reaches too far, and how far.
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
