"""What the error registers mean."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.errors import DeadlockError, ProgramError, UnitWait
from tandem.hw.faults import Fault
from tandem.hw.isa import AluOp, Assembler, MemoryId, TokenQueue, Unit
from tandem.sim.errors import BusError, BusTimeoutError, EngineError
from tandem.sim.rtl.outcome import failure

NOWHERE = 0xFFFF_FFFF


def registers(code: int, instruction: int = NOWHERE, **others: int) -> Callable[[str], int]:
    values = {"error_code": code, "error_instruction": instruction, **others}
    return values.__getitem__


def program() -> Assembler:
    asm = Assembler(HardwareConfig())
    asm.load(MemoryId.INP, sram=2047, dram=0, columns=2)
    asm.alu(AluOp.SHR, (0, 1))
    asm.alu(AluOp.SHR, (0, 1), imm=40)
    asm.store(sram=0, dram=0, columns=1)
    return asm


@pytest.mark.parametrize(
    ("fault", "instruction", "message"),
    [
        (Fault.SRAM_RANGE, 0, r"LOAD covers INP elements 2047\.\.2049"),
        (Fault.SRAM_INDEX, 1, "ALU reaches beyond a memory with one of its micro-ops"),
        (Fault.SHIFT, 1, "ALU by an ACC element's value: it must lie in"),
        (Fault.SHIFT, 2, "SHR by 40: it must lie in -31..31"),
        (Fault.TOKEN_OVERFLOW, 3, "pushes token number 65536"),
        (Fault.NO_FINISH, None, "no FINISH"),
        (Fault.TOKENS_LEFT, None, "tokens are left at the end"),
        (Fault.OPCODE, None, "the machine stopped"),
    ],
)
def test_faults_of_programs(fault: Fault, instruction: int | None, message: str) -> None:
    where = NOWHERE if instruction is None else instruction
    error = failure(program().build(), 0x1000, 0, registers(fault, where))
    assert isinstance(error, ProgramError)
    assert (error.fault, error.instruction) == (fault, instruction)
    with pytest.raises(ProgramError, match=rf"{message}.* \[{fault.name}\]$"):
        raise error


@pytest.mark.parametrize(
    ("fault", "instruction", "message"),
    [
        (Fault.BUS_READ, 0, "instruction 0: memory answered LOAD of INP with an error"),
        (Fault.BUS_WRITE, 3, "instruction 3: memory answered STORE of OUT with an error"),
        (Fault.BUS_READ, None, "program: memory answered the fetch of instructions with an error"),
    ],
)
def test_faults_of_the_bus(fault: Fault, instruction: int | None, message: str) -> None:
    where = NOWHERE if instruction is None else instruction
    error = failure(program().build(), 0x1000, 0, registers(fault, where))
    assert isinstance(error, BusError)
    assert (error.instruction, error.write) == (instruction, fault is Fault.BUS_WRITE)
    assert str(error) == f"{message} (physical memory ends at 0x1000) [{fault.name}]"


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        (0, "instruction 0: memory did not answer LOAD of INP at 0x1230 within 1,000 cycles"),
        (None, "program: memory did not answer a read at 0x1230 within 1,000 cycles"),
    ],
)
def test_a_bus_that_hangs(instruction: int | None, message: str) -> None:
    where = NOWHERE if instruction is None else instruction
    read = registers(Fault.BUS_TIMEOUT, where, error_address=0x1230)
    error = failure(program().build(), 0x1000, 1000, read)
    assert isinstance(error, BusTimeoutError)
    assert (error.instruction, error.address) == (instruction, 0x1230)
    assert str(error) == f"{message} [BUS_TIMEOUT]"


def test_deadlock() -> None:
    error = failure(
        program().build(),
        0x1000,
        0,
        registers(
            Fault.DEADLOCK,
            load_waits=0x003,
            compute_waits=0x103,
            compute_instruction=7,
            store_waits=0x100,
            store_instruction=9,
        ),
    )
    assert isinstance(error, DeadlockError)
    both = (TokenQueue.LOAD_TO_COMPUTE, TokenQueue.STORE_TO_COMPUTE)
    assert error.waits == (
        UnitWait(Unit.LOAD, None, ()),
        UnitWait(Unit.COMPUTE, 7, both),
        UnitWait(Unit.STORE, 9, ()),
    )


@pytest.mark.parametrize(
    ("code", "instruction", "message"),
    [
        (Fault.NONE, 0, "neither a result nor a fault"),
        (200, 0, "code 200 at instruction 0"),
        (Fault.SHIFT, 4, "code 9 at instruction 4"),
    ],
)
def test_a_design_that_makes_no_sense(code: int, instruction: int, message: str) -> None:
    error = failure(program().build(), 0x1000, 0, registers(code, instruction))
    with pytest.raises(EngineError, match=message):
        raise error
