"""Extensions of the instruction set: what a machine may have beyond VTA 0.0.2."""

from __future__ import annotations

from enum import Enum


class Feature(Enum):
    """An extension, by its name in configurations; its bit in the register `features`; and what it
    brings. Without it a machine refuses the extension's bits, opcodes and memories
    (`Fault.FEATURE`, `Fault.OPCODE`, `Fault.MEMORY_ID`).
    """

    bit: int
    meaning: str

    OVERWRITE = (
        *("overwrite", 0),
        "GEMM has a bit `overwrite`: products replace the accumulators instead of adding to them",
    )
    REQUANTISE = (
        *("requantise", 1),
        "results are requantised on their way to OUT, as REQUANTISE and the memory PAR say",
    )
    INPUT_OPERANDS = (
        *("input_operands", 2),
        "the second operand of ALU can come from INP; and an operation MOVE",
    )
    COMPRESSED_WEIGHTS = (
        *("compressed_weights", 3),
        "LOADs of WGT_CODES widen codes of 1, 2 or 4 bits to int8, by the table that TABLE sets",
    )

    def __new__(cls, value: str, bit: int, meaning: str) -> Feature:
        """The member with this name in configurations."""
        member = object.__new__(cls)
        member._value_ = value
        member.bit = bit
        member.meaning = meaning
        return member


BASE: frozenset[Feature] = frozenset()
"""The features that every machine has: none."""
