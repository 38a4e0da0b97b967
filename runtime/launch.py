"""One program on one simulated machine, from a call."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hw.isa import Program
from hw.memory_model import parse_memory
from sim.engine import Launch
from sim.engines import make_engine
from sim.memory import place
from sim.result import Result

__all__ = ["run_program"]


def run_program(
    program: Program,
    image: npt.NDArray[np.uint8],
    *,
    engine: str = "functional",
    memory: str = "fast",
) -> tuple[npt.NDArray[np.uint8], Result]:
    """Run a program on a machine that is switched on for it.

    Parameters
    ----------
    image
        Memory, index == physical address. It is copied; the program goes above it.
    engine, memory
        As the command line calls them.

    Returns
    -------
    tuple
        Memory afterwards, the image first; and what the engine tells.

    Raises
    ------
    sim.errors.SimulationError, hw.errors.HardwareError
        As `Engine.launch` and `place`.
    """
    dram, address = place(image, program)
    machine = make_engine(engine, program.config, parse_memory(memory))
    try:
        result = machine.launch(program, dram, Launch(address=address))
    finally:
        machine.close()
    return dram, result
