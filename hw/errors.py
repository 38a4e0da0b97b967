"""Errors of the `hw` package; the base class is `HardwareError`.

Errors that only `hw.hazards` or `hw.synthesis` raises are defined there.
"""

from __future__ import annotations

from dataclasses import dataclass

from tandem.base.errors import Error
from tandem.hw.faults import Fault
from tandem.hw.topology import TokenQueue, Unit


class HardwareError(Error):
    """Base class of the errors that the `hw` package raises."""


class ConfigError(HardwareError):
    """An impossible hardware configuration, or a file that does not describe a configuration."""


class TermError(HardwareError):
    """A text that is no term of ALU operations, or a term that no operation can have."""


class MemoryModelError(HardwareError):
    """A memory model's parameter out of range, or a text that does not describe a memory model."""


class RegisterMapError(HardwareError):
    """Control registers that cannot be a map: two that overlap, or a field outside of its own."""


class EncodingError(HardwareError):
    """A value that does not fit its bit field, or a word that encodes no instruction."""


class AssemblyError(HardwareError):
    """Assembler input that no instruction can express."""


class ProgramError(HardwareError):
    """A program that breaks the instruction set's rules.

    Attributes
    ----------
    fault
        The rule, as the accelerator's error register encodes it.
    instruction
        Index of the instruction at fault, or None if no single instruction is.
    micro_op
        Number of the instruction's micro-op at fault, or None if none is or it is not known.
    """

    def __init__(
        self, fault: Fault, instruction: int | None, message: str, micro_op: int | None = None
    ) -> None:
        where = "program" if instruction is None else f"instruction {instruction}"
        super().__init__(f"{where}: {message} [{fault.name}]")
        self.fault = fault
        self.instruction = instruction
        self.micro_op = micro_op


@dataclass(frozen=True, slots=True)
class UnitWait:
    """The state of one unit when the program stopped.

    `instruction` is None for an idle unit. `queues` are the empty token queues that the instruction
    pops; no queues if the instruction waits for something else.
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
    """A program that can never finish; `waits` holds what each unit waits for."""

    def __init__(self, waits: tuple[UnitWait, ...]) -> None:
        stuck = "; ".join(str(wait) for wait in waits)
        super().__init__(Fault.DEADLOCK, None, f"no unit can ever proceed: {stuck}")
        self.waits = waits
