"""A launch of a program on an engine, from an image."""

from __future__ import annotations

from typing import Any

import numpy as np

from tandem.hw.isa import Program
from tandem.sim.engine import Bytes, Engine, Launch
from tandem.sim.memory import place_program
from tandem.sim.result import Result

IMAGE_BYTES = 1 << 16


def launch(
    engine: Engine, program: Program, image: Bytes | None = None, **how: Any
) -> tuple[Result, Bytes]:
    """Run `program` on memory that holds `image` (default: 64 KiB of zeros) from address 0.

    `how` are fields of `Launch`. Returns the result, and the memory after the run without the
    program.
    """
    if image is None:
        image = np.zeros(IMAGE_BYTES, dtype=np.uint8)
    memory, address = place_program(image, program)
    result = engine.launch(program, memory, Launch(address=address, **how))
    return result, memory[: len(image)]
