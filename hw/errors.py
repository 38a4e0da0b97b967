"""Errors of the `hw` package, all rooted in `HardwareError`.

Those that only `hw.hazards` or `hw.synthesis` raise are defined there.
"""

from __future__ import annotations

from dataclasses import dataclass

from hw.faults import Fault
from hw.topology import TokenQueue, Unit

__all__ = [
    "AssemblyError",
    "CacheError",
    "ConfigError",
    "DeadlockError",
    "EncodingError",
    "HardwareError",
    "MemoryModelError",
    "ProgramError",
    "UnitWait",
]


class HardwareError(Exception):
    """Root of every error that the `hw` package raises on purpose."""


class ConfigError(HardwareError):
    """A hardware configuration that cannot be built, or a file that does not describe one."""


class CacheError(HardwareError):
    """A cache folder that cannot be used."""


class MemoryModelError(HardwareError):
    """Parameters of the memory model that are out of range, or a text that describes none."""


class EncodingError(HardwareError):
    """A value that does not fit its field, or a word that is no instruction."""


class AssemblyError(HardwareError):
    """A request to the assembler that no instruction can express."""


class ProgramError(HardwareError):
    """A program that breaks the instruction set's rules.

    Attributes
    ----------
    fault
        The rule, as the accelerator's error register encodes it.
    instruction
        Index of the instruction at fault, or None if no single instruction is.
    """

    def __init__(self, fault: Fault, instruction: int | None, message: str) -> None:
        where = "program" if instruction is None else f"instruction {instruction}"
        super().__init__(f"{where}: {message} [{fault.name}]")
        self.fault = fault
        self.instruction = instruction


@dataclass(frozen=True, slots=True)
class UnitWait:
    """What one unit was waiting for when the program stopped.

    `instruction` is None for a unit with nothing to do. `queues` are the empty token queues that
    its instruction pops; there are none if the instruction waits for something else.
    """

    unit: Unit
    instruction: int | None
    queues: tuple[TokenQueue, ...]

    def __str__(self) -> str:
        name = self.unit.name.lower()
        if self.instruction is None:
            return f"{name} is idle"
        if not self.queues:
            return f"{name} is at instruction {self.instruction}"
        waits = " and ".join(str(queue) for queue in self.queues)
        return f"{name} waits at instruction {self.instruction} for a token {waits}"


class DeadlockError(ProgramError):
    """A program that can never finish; `waits` says what each unit waits for."""

    def __init__(self, waits: tuple[UnitWait, ...]) -> None:
        stuck = "; ".join(str(wait) for wait in waits)
        super().__init__(Fault.DEADLOCK, None, f"no unit can ever proceed: {stuck}")
        self.waits = waits
