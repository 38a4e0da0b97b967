"""A program run on a simulated machine, with engine and memory model by name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.hw.isa import Program
from tandem.hw.memory_model import parse_memory
from tandem.sim.engines import run
from tandem.sim.result import Result


def run_program(
    program: Program,
    image: npt.NDArray[np.uint8],
    *,
    engine: str = "functional",
    memory: str = "fast",
) -> tuple[npt.NDArray[np.uint8], Result]:
    """Run a program once on a new machine, on a copy of `image`.

    Parameters
    ----------
    image
        Memory, index == physical address; the program is placed above it.
    engine, memory
        Names of the engine and of the memory model, as on the command line.

    Returns
    -------
    tuple
        The image as the run left it, and the engine's result.

    Raises
    ------
    tandem.sim.errors.SimulationError, tandem.hw.errors.HardwareError, tandem.base.errors.BaseError
        The errors of `Engine.launch` and `place_program`.
    """
    model = parse_memory(memory)
    result, after = run(program.config, program, image, engine=engine, memory_model=model)
    return after, result
