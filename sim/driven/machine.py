"""The interface of a machine that a driver drives."""

from __future__ import annotations

from typing import Final, Protocol

from tandem.sim.engine import Bytes

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
