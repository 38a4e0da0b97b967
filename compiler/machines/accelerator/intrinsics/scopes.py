"""Scopes of buffers in the accelerator's on-chip memories."""

from __future__ import annotations

from typing import Final

from tandem.compiler.ir.buffer import Scope


class OnChip:
    """The scopes of on-chip memories, and of immediates."""

    INP: Final = Scope("inp")
    """Data that the GEMM array reads: [batch, block_in] int8."""
    WGT: Final = Scope("wgt")
    """Weights: [block_out, block_in] int8."""
    ACC: Final = Scope("acc")
    """Accumulators: [batch, block_out] int32."""
    PAR: Final = Scope("par")
    """Parameters of requantisation: [block_out] int64, see `requantise_value`."""
    IMM: Final = Scope("imm")
    """No memory: immediates of instructions, supplied by each operator."""
