"""The factory of machines that drivers drive, by engine."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import DEFAULT_MEMORY, MemoryModel
from tandem.sim.driven.machine import DrivenMachine
from tandem.sim.engine import Bytes
from tandem.sim.engines import make_engine


def drive(
    engine: str, config: HardwareConfig, memory: Bytes, model: MemoryModel = DEFAULT_MEMORY
) -> DrivenMachine:
    """A machine of an engine, after reset.

    `rtl` has its own registers; `functional` and `cycle` run a program at once when it is launched,
    and have those registers that a launch needs.

    Raises
    ------
    EngineError
        No engine is called so, or it has no machine that can be driven.
    BuildError
        The RTL simulator cannot be built.
    """
    # Imported here, as the engines are.
    if engine == "rtl":
        from tandem.sim.driven.bench import BenchMachine

        return BenchMachine(config, memory, model)
    from tandem.sim.driven.registers import EngineMachine

    return EngineMachine(make_engine(engine, config, model), memory)
