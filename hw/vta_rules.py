"""What a legal program uses of this machine that VTA's simulator or hardware do not have.

The instruction set is VTA's, but its implementations differ from this machine, and from each other,
in the end of a program, in page 0 of DRAM, and in a few operations. `docs/vta.md` has the list, and
what is not found here: what depends on the contents of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.encoding import FIELDS_OF, Opcode
from tandem.hw.features import BASE
from tandem.hw.hazards.dram import rectangles_of
from tandem.hw.hazards.order import order_of
from tandem.hw.isa.columns import Columns, Ints, units_of
from tandem.hw.isa.program import Program
from tandem.hw.operations import AluOp
from tandem.hw.topology import BASE_REGISTERS, MemoryId, Unit

HLS_SHIFTS = range(-16, 16)
"""The shifts of VTA's HLS, which takes five bits of a shift, with sign."""
VTA_HARDWARE_OPS = (AluOp.MIN, AluOp.MAX, AluOp.ADD, AluOp.SHR)
"""The ALU operations of both VTA's Chisel and its HLS."""


class VtaRule(Enum):
    """What a program for VTA has to observe."""

    END = "end"
    """FINISH executes last: VTA ends a program there."""
    PAGE_0 = "page 0"
    """No address below 0x1000: VTA's memory manager has no page 0."""
    OPERATION = "operation"
    """ALU operations are those of `VTA_HARDWARE_OPS`."""
    SHIFT = "shift"
    """Immediates of SHR are those of `HLS_SHIFTS`."""
    MEMORY = "memory"
    """No LOAD of ACC_8BIT: VTA's Chisel and HLS do not widen bytes."""
    EXTENSION = "extension"
    """Nothing of an extension (`hw.features`): VTA ignores its bits, or does something else."""


@dataclass(frozen=True, slots=True)
class VtaWarning:
    """Instructions that break one of VTA's rules, for one reason.

    Attributes
    ----------
    instructions
        Their positions; empty where it is the program's own address.
    explanation
        What is asked and what was found, in a line.
    """

    rule: VtaRule
    instructions: tuple[int, ...]
    explanation: str

    def __str__(self) -> str:
        others = len(self.instructions) - 1
        return self.explanation + (f" (and {others} more alike)" if others > 0 else "")


def vta_warnings(
    program: Program,
    *,
    bases: Sequence[int] = (0,) * BASE_REGISTERS,
    program_bytes: range | None = None,
) -> tuple[VtaWarning, ...]:
    """The rules of VTA that a legal program breaks; empty if none is broken.

    Parameters
    ----------
    bases
        The base registers, by `MemoryId`, in bytes.
    program_bytes
        The physical byte addresses of the program, if known.

    Raises
    ------
    EncodingError
        A base register that the machine cannot hold.
    """
    columns = program.columns()
    return (
        *_end(columns),
        *_page_0(program.config, columns, bases, program_bytes),
        *_operations(columns),
        *_shifts(columns),
        *_memories(columns),
        *_extensions(program.config, columns),
    )


def _end(columns: Columns) -> tuple[VtaWarning, ...]:
    """For load and store: whether their last instructions are complete when FINISH starts.

    A program in which FINISH never starts, or without FINISH, is not judged.
    """
    finishes = np.flatnonzero(columns.opcode == Opcode.FINISH)
    units = units_of(columns)
    order = order_of(columns, units)
    if not len(finishes) or finishes[-1] not in order.sequence:
        return ()
    finish = int(finishes[-1])
    found = []
    for unit in (Unit.LOAD, Unit.STORE):
        own = np.flatnonzero(units == unit)
        complete = int(order.clocks[finish, unit])
        if complete < len(own):
            late = own[complete:]
            explanation = (
                f"VTA ends a program at FINISH, instruction {finish}: compute must pop a token of "
                f"the last instruction of {unit.name.lower()}, {late[-1]}, before; the tokens that "
                f"it pops cover {_up_to(own[:complete])}"
            )
            found.append(VtaWarning(VtaRule.END, (int(late[-1]),), explanation))
    return tuple(found)


def _up_to(complete: Ints) -> str:
    return f"instructions of that unit up to {complete[-1]}" if len(complete) else "none of them"


def _page_0(
    config: HardwareConfig,
    columns: Columns,
    bases: Sequence[int],
    program_bytes: range | None,
) -> tuple[VtaWarning, ...]:
    asked = f"VTA's memory has no page 0, the bytes below {PAGE_BYTES:#x}:"
    found = []
    if program_bytes and program_bytes.start < PAGE_BYTES:
        explanation = f"{asked} the program lies at {program_bytes.start:#x}"
        found.append(VtaWarning(VtaRule.PAGE_0, (), explanation))
    rectangles = rectangles_of(config, columns, bases)
    low = np.flatnonzero((rectangles.rows > 0) & (rectangles.first < PAGE_BYTES))
    if len(low):
        verb = "stores to" if rectangles.stores[low[0]] else "loads from"
        address = int(rectangles.first[low[0]])
        explanation = f"{asked} instruction {low[0]} {verb} {address:#x}"
        found.append(VtaWarning(VtaRule.PAGE_0, tuple(low.tolist()), explanation))
    return tuple(found)


def _operations(columns: Columns) -> tuple[VtaWarning, ...]:
    operations = np.where(columns.opcode == Opcode.ALU, columns.alu_opcode, AluOp.MIN)
    found = []
    # Those of extensions are found as such.
    own = (op for op in _BASE_OPS if op not in VTA_HARDWARE_OPS)
    for op in own:
        used = np.flatnonzero(operations == op)
        if len(used):
            explanation = (
                f"VTA's Chisel and HLS have no {op.name} (ALU opcode {int(op)}"
                f"{_ELSEWHERE.get(op, '')}): instruction {used[0]}"
            )
            found.append(VtaWarning(VtaRule.OPERATION, tuple(used.tolist()), explanation))
    return tuple(found)


_BASE_OPS = tuple(op for op in AluOp if op.needs == BASE)
_ELSEWHERE = {AluOp.MUL: ", which is SHL in Chisel's ALU"}


def _shifts(columns: Columns) -> tuple[VtaWarning, ...]:
    shifts = (columns.opcode == Opcode.ALU) & (columns.alu_opcode == AluOp.SHR)
    beyond = (columns.imm < HLS_SHIFTS.start) | (columns.imm >= HLS_SHIFTS.stop)
    used = np.flatnonzero(shifts & (columns.use_imm != 0) & beyond)
    if not len(used):
        return ()
    explanation = (
        f"VTA's HLS takes five signed bits of a shift, {HLS_SHIFTS[0]}..{HLS_SHIFTS[-1]}: "
        f"instruction {used[0]} shifts by {columns.imm[used[0]]}"
    )
    return (VtaWarning(VtaRule.SHIFT, tuple(used.tolist()), explanation),)


def _memories(columns: Columns) -> tuple[VtaWarning, ...]:
    loads = (columns.opcode == Opcode.LOAD) & (columns.memory_type == MemoryId.ACC_8BIT)
    used = np.flatnonzero(loads)
    if not len(used):
        return ()
    explanation = f"VTA's Chisel and HLS cannot load ACC_8BIT: instruction {used[0]}"
    return (VtaWarning(VtaRule.MEMORY, tuple(used.tolist()), explanation),)


def _extensions(config: HardwareConfig, columns: Columns) -> tuple[VtaWarning, ...]:
    """By kind of extension, the instructions that use it."""
    alu = columns.opcode == Opcode.ALU
    uses = {
        **_extension_fields(columns, Opcode.GEMM),
        "REQUANTISE": columns.opcode == Opcode.REQUANTISE,
        "memory PAR": (columns.opcode == Opcode.LOAD) & (columns.memory_type == MemoryId.PAR),
        "memory WGT_CODES": (columns.opcode == Opcode.LOAD)
        & (columns.memory_type == MemoryId.WGT_CODES),
        "TABLE": columns.opcode == Opcode.TABLE,
        **_extension_fields(columns, Opcode.ALU),
        **{
            f"ALU {config.alu_operation(number).name}": alu & (columns.alu_opcode == number)
            for number in config.alu_opcodes
            if number not in _BASE_OPS
        },
    }
    found = []
    for name, mask in uses.items():
        used = np.flatnonzero(mask)
        if len(used):
            explanation = f"VTA has no {name}, an extension: instruction {used[0]}"
            found.append(VtaWarning(VtaRule.EXTENSION, tuple(used.tolist()), explanation))
    return tuple(found)


def _extension_fields(columns: Columns, opcode: Opcode) -> dict[str, npt.NDArray[np.bool_]]:
    """By what a field of an extension means, the instructions that set it."""
    return {
        spec.use: (columns.opcode == opcode) & (getattr(columns, spec.name) != spec.default)
        for spec in FIELDS_OF[opcode]
        if spec.needs is not None
    }
