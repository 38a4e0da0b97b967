"""Errors of faults that compiled code returns, word by word."""

from __future__ import annotations

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import AluOp, Assembler, MemoryId, Program
from tandem.hw.topology import MAX_TOKENS
from tandem.sim.errors import BusError
from tandem.sim.semantics.detail import (
    END_BYTE,
    FIRST_BYTE,
    INDEX,
    MEMORY,
    POSITION,
    VALUE,
    Detail,
    make_detail,
)
from tandem.sim.semantics.report import bus_timeout_error, instruction_error, program_error

TINY = load_config("tiny")


def program() -> Program:
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    asm.load(MemoryId.INP, sram=0, dram=0, columns=1)
    asm.finish()
    return asm.build()


def details(**given: int) -> Detail:
    places = {
        "position": POSITION,
        "memory": MEMORY,
        "index": INDEX,
        "value": VALUE,
        "first": FIRST_BYTE,
        "end": END_BYTE,
    }
    found = make_detail()
    for name, value in given.items():
        found[places[name]] = value
    return found


def error(fault: Fault, position: int, detail: Detail | None, memory: int = 0x1000) -> Exception:
    return program_error(TINY, program().columns(), position, fault, detail, memory)


def test_faults_of_the_whole_program() -> None:
    missing = error(Fault.NO_FINISH, 0, None)
    assert str(missing) == "program: it has no FINISH, which must end it [NO_FINISH]"
    assert isinstance(missing, ProgramError)
    assert missing.instruction is None
    many = error(Fault.TOKEN_OVERFLOW, 1, make_detail())
    assert isinstance(many, ProgramError)
    assert many.instruction == 1
    assert str(many) == (
        f"instruction 1: it pushes token number {MAX_TOKENS + 1} into a queue [TOKEN_OVERFLOW]"
    )


def test_indices_beyond_a_memory() -> None:
    detail = details(position=5, memory=MemoryId.ACC, index=77)
    found = error(Fault.SRAM_INDEX, 1, detail)
    assert isinstance(found, ProgramError)
    assert (found.fault, found.instruction, found.micro_op) == (Fault.SRAM_INDEX, 1, 5)
    depth = TINY.depth(MemoryId.ACC)
    assert str(found) == (
        f"instruction 1: LOAD reaches ACC element 77 in its micro-op number 5: the memory has "
        f"{depth} [SRAM_INDEX]"
    )


def test_shifts_that_are_too_far() -> None:
    asm = Assembler(TINY)
    asm.load(MemoryId.UOP, sram=0, dram=0, columns=1)
    asm.alu(AluOp.SHR, (0, 1))
    asm.finish()
    columns = asm.build().columns()
    found = instruction_error(
        TINY, columns, 1, Fault.SHIFT, details(position=3, index=9, value=-40), 0
    )
    assert isinstance(found, ProgramError)
    assert (found.instruction, found.micro_op) == (1, 3)
    assert str(found) == (
        "instruction 1: SHR by -40, out of ACC element 9, in its micro-op number 3: it must lie in "
        "-31..31 [SHIFT]"
    )


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (0x1000, "memory answers with an error there"),
        (0x1001, "physical memory ends at 0x1000"),
    ],
)
@pytest.mark.parametrize("fault", [Fault.BUS_READ, Fault.BUS_WRITE])
def test_rows_that_memory_refuses(fault: Fault, end: int, why: str) -> None:
    found = error(fault, 1, details(first=0xFC0, end=end))
    assert isinstance(found, BusError)
    assert (found.instruction, found.write) == (1, fault is Fault.BUS_WRITE)
    assert str(found) == (
        f"instruction 1: LOAD of INP touches bytes 0xfc0..{end:#x} (end excluded): {why} "
        f"[{fault.name}]"
    )


def test_faults_of_an_instruction_by_itself() -> None:
    found = error(Fault.SRAM_RANGE, 1, None)
    assert isinstance(found, ProgramError)
    assert (found.fault, found.instruction) == (Fault.SRAM_RANGE, 1)
    assert str(found).startswith("instruction 1: ")
    with pytest.raises(ValueError, match=r"^OPCODE is no fault of a running instruction$"):
        error(Fault.OPCODE, 1, make_detail())


def test_memories_that_do_not_answer() -> None:
    fetch = bus_timeout_error(program(), None, 0x40, 12345)
    assert (fetch.instruction, fetch.address) == (None, 0x40)
    assert str(fetch) == (
        "program: memory did not answer a read at 0x40 within 12,345 cycles [BUS_TIMEOUT]"
    )
    load = bus_timeout_error(program(), 1, 0x80, 10)
    assert (load.instruction, load.address) == (1, 0x80)
    assert str(load) == (
        "instruction 1: memory did not answer LOAD of INP at 0x80 within 10 cycles [BUS_TIMEOUT]"
    )
