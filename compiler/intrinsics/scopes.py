"""The memories on the accelerator's chip, as buffers name them."""

from __future__ import annotations

from typing import Final

from compiler.ir.buffer import Scope

__all__ = ["OnChip"]


class OnChip:
    """Scopes."""

    INP: Final = Scope("inp")
    """What the array reads: image elements, [batch, block_in] int8."""
    WGT: Final = Scope("wgt")
    """Weights: [block_out, block_in] int8."""
    ACC: Final = Scope("acc")
    """Accumulators: [batch, block_out] int32."""
    IMM: Final = Scope("imm")
    """Nowhere: a number that instructions carry, given with each operator."""
