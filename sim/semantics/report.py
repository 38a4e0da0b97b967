"""Converts the faults that compiled code returns to exceptions."""

from __future__ import annotations

from hw.config import HardwareConfig
from hw.encoding import Opcode
from hw.errors import ProgramError
from hw.faults import Fault
from hw.isa import Columns, MemoryId
from hw.operations import MAX_SHIFT
from sim.errors import BusError
from sim.semantics.detail import END_BYTE, FIRST_BYTE, INDEX, MEMORY, POSITION, VALUE, Detail


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
            )
        case Fault.SHIFT:
            operands = MemoryId.INP if columns.from_inp[position] else MemoryId.ACC
            return ProgramError(
                fault,
                position,
                f"SHR by {int(detail[VALUE])}, out of {operands.name} element "
                f"{int(detail[INDEX])}, in its micro-op number {done}: it must lie in "
                f"{-MAX_SHIFT}..{MAX_SHIFT}",
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
