"""Converts the faults that compiled code returns to exceptions."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa import Columns, MemoryId, Program
from tandem.hw.isa.diagnostics import describe
from tandem.hw.isa.operand_use import source_memory
from tandem.hw.operations import MAX_SHIFT
from tandem.hw.topology import MAX_TOKENS
from tandem.sim.errors import BusError, BusTimeoutError
from tandem.sim.semantics.detail import END_BYTE, FIRST_BYTE, INDEX, MEMORY, POSITION, VALUE, Detail


def program_error(
    config: HardwareConfig,
    columns: Columns,
    position: int,
    fault: Fault,
    detail: Detail | None,
    memory_bytes: int,
) -> ProgramError | BusError:
    """The error for a `fault` that stops instruction `position`.

    `detail` is None if the instruction is wrong by itself; `memory_bytes` is the size of physical
    memory.
    """
    match fault:
        case Fault.NO_FINISH:
            return ProgramError(fault, None, "it has no FINISH, which must end it")
        case Fault.TOKEN_OVERFLOW:
            return ProgramError(
                fault, position, f"it pushes token number {MAX_TOKENS + 1} into a queue"
            )
    if detail is not None:
        return instruction_error(config, columns, position, fault, detail, memory_bytes)
    return ProgramError(fault, position, describe(config, columns, position, fault))


def instruction_error(
    config: HardwareConfig,
    columns: Columns,
    position: int,
    fault: Fault,
    detail: Detail,
    memory_bytes: int,
) -> ProgramError | BusError:
    """The error for a `fault` of instruction `position` at run time.

    `memory_bytes` is the size of physical memory.
    """
    kind = Opcode(int(columns.opcode[position])).name
    done = int(detail[POSITION])
    match fault:
        case Fault.SRAM_INDEX:
            memory = MemoryId(int(detail[MEMORY]))
            return ProgramError(
                fault,
                position,
                f"{kind} reaches {memory.name} element {int(detail[INDEX])} in its micro-op "
                f"number {done}: the memory has {config.depth(memory)}",
                done,
            )
        case Fault.SHIFT:
            operands = source_memory(columns.row(position))
            assert operands is not None
            return ProgramError(
                fault,
                position,
                f"SHR by {int(detail[VALUE])}, out of {operands.name} element "
                f"{int(detail[INDEX])}, in its micro-op number {done}: it must lie in "
                f"{-MAX_SHIFT}..{MAX_SHIFT}",
                done,
            )
        case Fault.BUS_READ | Fault.BUS_WRITE:
            memory = MemoryId(int(columns.memory_type[position]))
            first, end = int(detail[FIRST_BYTE]), int(detail[END_BYTE])
            why = (
                f"physical memory ends at {memory_bytes:#x}"
                if end > memory_bytes
                else "memory answers with an error there"
            )
            return BusError(
                position,
                write=fault is Fault.BUS_WRITE,
                message=f"instruction {position}: {kind} of {memory.name} touches bytes "
                f"{first:#x}..{end:#x} (end excluded): {why} [{fault.name}]",
            )
        case _:
            raise ValueError(f"{fault.name} is no fault of a running instruction")


def bus_timeout_error(
    program: Program, instruction: int | None, address: int, limit: int
) -> BusTimeoutError:
    """The error of a memory that did not answer for `limit` cycles; `address` is the oldest
    outstanding burst's."""
    if instruction is None:
        subject, access = "program", "a read"
    else:
        columns = program.columns()
        kind = Opcode(int(columns.opcode[instruction])).name
        subject = f"instruction {instruction}"
        access = f"{kind} of {MemoryId(int(columns.memory_type[instruction])).name}"
    return BusTimeoutError(
        instruction,
        address,
        f"{subject}: memory did not answer {access} at {address:#x} within {limit:,} cycles "
        f"[{Fault.BUS_TIMEOUT.name}]",
    )
