"""Extensions of the instruction set: what a machine may have beyond VTA 0.0.2."""

from __future__ import annotations

from enum import Enum


class Feature(Enum):
    """An extension, by its name in configurations. Without it a machine refuses the extension's
    bits and opcodes (`Fault.FEATURE`, `Fault.OPCODE`).
    """

    OVERWRITE = "overwrite"
    """GEMM has a bit `overwrite`: products replace the accumulators instead of adding to them."""

    @property
    def bit(self) -> int:
        """The feature's bit in the register `features` and in the C header."""
        match self:
            case Feature.OVERWRITE:
                return 0
