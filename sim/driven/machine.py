"""The interface of a machine that a driver drives, and the factory of such machines by engine."""

from __future__ import annotations

from typing import Final, Protocol

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import DEFAULT_MEMORY, MemoryModel
from tandem.sim.engine import Bytes
from tandem.sim.engines import make_engine

MHZ: Final = 100
"""The clock that a driver's microseconds are counted with."""


class DrivenMachine(Protocol):
    """A machine with registers, behind a memory that its driver sees, too.

    Attributes
    ----------
    memory
        Physical memory, index == address.
    """

    memory: Bytes

    def read(self, offset: int) -> int:
        """The value of a register of 32 bits."""
        ...

    def write(self, offset: int, value: int) -> None:
        """Write a register of 32 bits."""
        ...

    def wait(self, microseconds: int) -> None:
        """Let time pass until the interrupt is high, at most so long."""
        ...

    @property
    def microseconds(self) -> int:
        """The time since the machine was made, with a clock of `MHZ`."""
        ...

    def close(self) -> None:
        """Free the simulated machine."""
        ...


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
