"""What a GEMM or ALU instruction reads and writes: the elements of each memory.

Both execute the micro-ops from `uop_bgn` up to `uop_end` of UOP, in two loops. An operand's index
is a field of the micro-op plus, for each loop, its iteration times the operand's factor in the
instruction. Where results are requantised, both also read PAR, from `par_base` on with the factors
of the REQUANTISE in force (`hw.isa.modes`). Their results go to the elements of OUT that have the
indices of those in ACC.

The rules of programs, the meaning of instructions and their time take from here which operands are
in use. The checker of hazards and the RTL find it by themselves: a test compares the three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from tandem.hw.encoding import Opcode
from tandem.hw.isa.columns import FROM_INP, OPCODE, RESET_REG, USE_IMM
from tandem.hw.topology import MemoryId

GEMM = int(Opcode.GEMM)
ALU = int(Opcode.ALU)


class Fields(Protocol):
    """The fields of an instruction, or of many (`Columns`), by the numbers of `hw.isa.columns`."""

    def __getitem__(self, number: int, /) -> Any:
        """A number, or an array with a number for each instruction."""
        ...


@dataclass(frozen=True, slots=True)
class Operand:
    """The field of micro-ops that is the operand's index, and the memory that it indexes."""

    index: str
    memory: MemoryId


OPERANDS = (
    Operand("dst", MemoryId.ACC),
    Operand("src", MemoryId.INP),
    Operand("wgt", MemoryId.WGT),
    Operand("src", MemoryId.ACC),
)
"""All operands. The first is written, and read unless the instruction replaces it; the others are
read."""


def operands_used(fields: Fields) -> tuple[Any, Any, Any, Any]:
    """Which of `OPERANDS` an instruction has, in their order: whether, or an array of whether.

    An ALU instruction has its immediate where it reads no second operand. Compiled code takes this
    function inline.
    """
    gemm = fields[OPCODE] == GEMM
    alu = fields[OPCODE] == ALU
    multiplies = gemm & (fields[RESET_REG] == 0)
    reads_second = alu & (fields[USE_IMM] == 0)
    from_inp = fields[FROM_INP] == 1
    from_acc = fields[FROM_INP] == 0
    return (
        gemm | alu,
        multiplies | (reads_second & from_inp),
        multiplies,
        reads_second & from_acc,
    )


def source_memory(fields: Fields) -> MemoryId | None:
    """The memory that `src` indexes in one instruction; None if the instruction reads none."""
    for operand, used in zip(OPERANDS, operands_used(fields), strict=True):
        if operand.index == "src" and used:
            return operand.memory
    return None
