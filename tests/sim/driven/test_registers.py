"""What registers say of an engine's launches: results, and each kind of error."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import DeadlockError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.isa import Finish, Program, TokenQueue, Unit, Work
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.hw.registers import (
    CONTROL,
    NO_INSTRUCTION,
    Control,
    Interrupt,
    Status,
    Waits,
    registers_of,
)
from tandem.hw.topology import BASED, MemoryId
from tandem.sim.driven.machine import MHZ
from tandem.sim.driven.registers import EngineMachine
from tandem.sim.engine import Bytes, Launch
from tandem.sim.errors import BusError, BusTimeoutError, CycleLimitError
from tandem.sim.events import EventTable
from tandem.sim.result import Result

PROGRAM = 4096
WORK = Work(loaded={}, stored=0, gemm_uops=0, reset_uops=0, alu_uops=0, instructions={})


class ScriptedEngine:
    """An engine whose launches end as they are told to."""

    name = "scripted"
    has_time = True
    memory_model = DEFAULT_MEMORY

    def __init__(self, config: HardwareConfig, end: int | Exception | None) -> None:
        self.config = config
        self.end = end
        self.launches: list[tuple[Program, Launch]] = []
        self.closed = False

    def prepare(self, data: bool = True) -> None:
        """Nothing."""

    def launch(self, program: Program, memory: Bytes, how: Launch) -> Result:
        self.launches.append((program, how))
        if isinstance(self.end, Exception):
            raise self.end
        return Result("scripted", self.end, None, WORK, EventTable.of(()), 0.0)

    def close(self) -> None:
        self.closed = True


class Machine:
    """A machine with a program of one instruction, and its registers by name."""

    def __init__(self, end: int | Exception | None, preset: str = "tiny") -> None:
        config = load_config(preset)
        self.program = Program.from_instructions(config, [Finish()])
        memory = np.zeros(2 * PROGRAM, np.uint8)
        memory[PROGRAM : PROGRAM + 16] = np.frombuffer(self.program.data, np.uint8)
        self.engine = ScriptedEngine(config, end)
        self.driven = EngineMachine(self.engine, memory, refused=((1, 2),))
        self.words = {
            register.name: [offset for _, offset, _ in register.words]
            for register in registers_of(config.features)
        }
        self["instruction_address"] = PROGRAM
        self["instruction_count"] = 1

    def __getitem__(self, name: str) -> int:
        words = enumerate(self.words[name])
        return sum(self.driven.read(offset) << 32 * at for at, offset in words)

    def __setitem__(self, name: str, value: int) -> None:
        for at, offset in enumerate(self.words[name]):
            self.driven.write(offset, value >> 32 * at & 0xFFFFFFFF)

    def launched(self) -> Machine:
        self.driven.write(CONTROL, Control.LAUNCH)
        return self


def test_a_launch_that_ends() -> None:
    machine = Machine((1 << 32) + 7)
    machine["bus_timeout"] = 90
    machine["base_inp"] = 64
    machine["base_wgt"] = (1 << 33) + 128
    machine.launched()
    assert (machine["status"], machine["irq_status"]) == (Status.DONE, Interrupt.DONE)
    assert machine["cycles"] == (1 << 32) + 7
    ((program, how),) = machine.engine.launches
    assert program == machine.program
    bases = {MemoryId.INP: 64, MemoryId.WGT: (1 << 33) + 128}
    assert dict(zip(BASED, how.bases, strict=True)) == {it: bases.get(it, 0) for it in BASED}
    assert how == Launch(
        address=PROGRAM, bases=how.bases, bus_timeout=90, bus_errors=((1, 2),), validate=False
    )
    assert machine.driven.error is None


def test_bits_of_the_interrupt_are_cleared_by_writing_them() -> None:
    machine = Machine(5).launched()
    machine["irq_status"] = Interrupt.ERROR
    assert machine["irq_status"] == Interrupt.DONE
    machine["irq_status"] = Interrupt.DONE | Interrupt.ERROR
    assert machine["irq_status"] == 0
    assert machine["status"] == Status.DONE
    machine.driven.write(CONTROL, Control.SOFT_RESET)
    assert machine["status"] == 0
    assert len(machine.engine.launches) == 1
    # A write of neither bit does nothing.
    machine.driven.write(CONTROL, 0)
    assert len(machine.engine.launches) == 1
    assert machine.driven.read(1 << 20) == 0


def test_time_is_that_of_launches_and_of_waiting() -> None:
    machine = Machine(3 * MHZ + 1).launched()
    assert machine.driven.microseconds == 3
    machine.driven.wait(4)
    assert machine.driven.microseconds == 7
    # An engine without time adds none.
    machine.engine.end = None
    assert machine.launched().driven.microseconds == 7
    assert machine["cycles"] == 0
    machine.driven.close()
    assert machine.engine.closed


def test_a_program_of_no_instructions() -> None:
    machine = Machine(5)
    machine["instruction_count"] = 0
    machine.launched()
    assert machine.engine.launches == []
    assert (machine["status"], machine["irq_status"]) == (Status.ERROR, Interrupt.ERROR)
    assert machine["error_code"] == Fault.NO_FINISH
    assert machine["error_instruction"] == NO_INSTRUCTION


@pytest.mark.parametrize(
    ("error", "fault", "instruction"),
    [
        (ProgramError(Fault.OPCODE, 3, "none"), Fault.OPCODE, 3),
        (ProgramError(Fault.NO_FINISH, None, "none"), Fault.NO_FINISH, NO_INSTRUCTION),
        (BusError(2, write=True, message=""), Fault.BUS_WRITE, 2),
        (BusError(0, write=False, message=""), Fault.BUS_READ, 0),
        (BusTimeoutError(None, 0x1234, ""), Fault.BUS_TIMEOUT, NO_INSTRUCTION),
    ],
)
def test_errors(error: Exception, fault: Fault, instruction: int) -> None:
    machine = Machine(error).launched()
    assert (machine["status"], machine["irq_status"]) == (Status.ERROR, Interrupt.ERROR)
    assert (machine["error_code"], machine["error_instruction"]) == (fault, instruction)
    assert machine.driven.error is None
    if isinstance(error, BusTimeoutError):
        assert machine["error_address"] == 0x1234


def test_an_error_that_registers_cannot_say() -> None:
    error = CycleLimitError(5, "too long")
    machine = Machine(error).launched()
    assert machine.driven.error is error
    assert (machine["status"], machine["error_code"]) == (Status.ERROR, Fault.NONE)
    machine.engine.end = 9
    assert machine.launched().driven.error is None


def test_deadlocks_say_what_units_wait_for() -> None:
    waits = (
        UnitWait(Unit.LOAD, 4, (TokenQueue.COMPUTE_TO_LOAD,)),
        UnitWait(Unit.COMPUTE, 5, (TokenQueue.LOAD_TO_COMPUTE, TokenQueue.STORE_TO_COMPUTE)),
        UnitWait(Unit.STORE, None, ()),
    )
    machine = Machine(DeadlockError(waits)).launched()
    assert machine["error_code"] == Fault.DEADLOCK
    assert machine["error_instruction"] == NO_INSTRUCTION
    assert machine["load_waits"] == Waits.ACTIVE | Waits.NEXT
    assert machine["compute_waits"] == Waits.ACTIVE | Waits.PREV | Waits.NEXT
    assert machine["store_waits"] == 0
    names = [machine[f"{unit.name.lower()}_instruction"] for unit in Unit]
    assert names == [4, 5, NO_INSTRUCTION]
    first = UnitWait(Unit.COMPUTE, 6, (TokenQueue.LOAD_TO_COMPUTE,))
    machine = Machine(DeadlockError((first,))).launched()
    assert machine["compute_waits"] == Waits.ACTIVE | Waits.PREV
