"""Engines without registers, behind the registers that a driver needs.

A launch runs to its end when it is written; its error becomes what the error registers would say.
"""

from __future__ import annotations

from tandem.hw.encoding import INSTRUCTION_BYTES
from tandem.hw.errors import DeadlockError, HardwareError, ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import Program, Unit
from tandem.hw.registers import (
    CONTROL,
    NO_INSTRUCTION,
    Control,
    Interrupt,
    Status,
    Waits,
    registers_of,
)
from tandem.hw.topology import BASED, POPS
from tandem.sim.driven.machine import MHZ
from tandem.sim.engine import Bytes, Engine, Launch
from tandem.sim.errors import BusError, BusTimeoutError, SimulationError

_WORD = 0xFFFF_FFFF


class EngineMachine:
    """A machine of an engine.

    Attributes
    ----------
    error
        What the last launch raised, if that is nothing that registers can say; None otherwise.
    """

    def __init__(
        self, engine: Engine, memory: Bytes, *, refused: tuple[tuple[int, int], ...] = ()
    ) -> None:
        self.memory = memory
        self.error: Exception | None = None
        self._engine = engine
        self._refused = refused
        self._cycles = 0
        registers = registers_of(engine.config.features)
        self._registers = {register.name: register for register in registers}
        self._words = {
            offset: register.value(engine.config) >> lsb & _WORD
            for register in registers
            for _, offset, lsb in register.words
        }

    def read(self, offset: int) -> int:
        return self._words.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        if offset == self._registers["irq_status"].offset:
            self._words[offset] &= ~value
        elif offset != CONTROL:
            self._words[offset] = value
        elif value & Control.SOFT_RESET:
            self._set("status", 0)
        elif value & Control.LAUNCH:
            self._launch()

    def wait(self, microseconds: int) -> None:
        """Nothing is to be waited for: a launch ends at once."""
        self._cycles += microseconds * MHZ

    @property
    def microseconds(self) -> int:
        return self._cycles // MHZ

    def close(self) -> None:
        self._engine.close()

    def _launch(self) -> None:
        config = self._engine.config
        self.error = None
        if not self._value("instruction_count"):
            self._stopped(ProgramError(Fault.NO_FINISH, None, "a program of no instructions"))
            return
        address = self._value("instruction_address")
        end = address + self._value("instruction_count") * INSTRUCTION_BYTES
        program = Program.from_bytes(config, self.memory[address:end].tobytes())
        bases = tuple(
            self._value(f"base_{memory.name.lower()}") if memory in config.memories else 0
            for memory in BASED
        )
        how = Launch(
            address=address,
            bases=bases,
            bus_timeout=self._value("bus_timeout"),
            bus_errors=self._refused,
            validate=False,
        )
        try:
            cycles = self._engine.launch(program, self.memory, how).cycles or 0
        except (HardwareError, SimulationError) as error:
            self._stopped(error)
            return
        self._cycles += cycles
        self._set("cycles", cycles)
        self._set("status", Status.DONE)
        self._set("irq_status", Interrupt.DONE)

    def _stopped(self, error: HardwareError | SimulationError) -> None:
        self._set("status", Status.ERROR)
        self._set("irq_status", Interrupt.ERROR)
        fault, instruction = Fault.NONE, None
        match error:
            case DeadlockError(waits=waits):
                fault = Fault.DEADLOCK
                for wait in waits:
                    self._set_wait(wait.unit, wait.instruction, wait.queues)
            case ProgramError():
                fault, instruction = error.fault, error.instruction
            case BusTimeoutError():
                fault, instruction = Fault.BUS_TIMEOUT, error.instruction
                self._set("error_address", error.address)
            case BusError():
                fault = Fault.BUS_WRITE if error.write else Fault.BUS_READ
                instruction = error.instruction
            case _:
                self.error = error
        self._set("error_code", fault)
        self._set("error_instruction", NO_INSTRUCTION if instruction is None else instruction)

    def _set_wait(self, unit: Unit, instruction: int | None, queues: tuple[object, ...]) -> None:
        name = unit.name.lower()
        waits = 0 if instruction is None else int(Waits.ACTIVE)
        for side, queue in zip((Waits.PREV, Waits.NEXT), POPS[unit], strict=True):
            waits |= side if queue is not None and queue in queues else 0
        self._set(f"{name}_waits", waits)
        self._set(f"{name}_instruction", NO_INSTRUCTION if instruction is None else instruction)

    def _value(self, name: str) -> int:
        return sum(self._words[offset] << lsb for _, offset, lsb in self._registers[name].words)

    def _set(self, name: str, value: int) -> None:
        for _, offset, lsb in self._registers[name].words:
            self._words[offset] = value >> lsb & _WORD
