"""Extensions of the instruction set: what a machine may have beyond VTA 0.0.2."""

from __future__ import annotations

from enum import Enum


class Feature(Enum):
    """An extension, by its name in configurations. Without it a machine refuses the extension's
    bits, opcodes and memories (`Fault.FEATURE`, `Fault.OPCODE`, `Fault.MEMORY_ID`).
    """

    OVERWRITE = "overwrite"
    """GEMM has a bit `overwrite`: products replace the accumulators instead of adding to them."""
    REQUANTISE = "requantise"
    """Results are requantised on their way to OUT, with parameters from the memory PAR; the
    instruction REQUANTISE says how."""
    INPUT_OPERANDS = "input_operands"
    """ALU can take its second operand from INP, and has the operation MOVE; with `REQUANTISE` also
    RESIDUAL."""

    @property
    def bit(self) -> int:
        """The feature's bit in the register `features` and in the C header."""
        match self:
            case Feature.OVERWRITE:
                return 0
            case Feature.REQUANTISE:
                return 1
            case Feature.INPUT_OPERANDS:
                return 2


BASE: frozenset[Feature] = frozenset()
"""The features that every machine has: none."""
