"""The mode of requantisation that each instruction executes in, known from program order."""

from __future__ import annotations

import numpy as np

from tandem.hw.encoding import Opcode
from tandem.hw.isa.columns import Columns, Ints
from tandem.hw.isa.operand_use import operands_used


def active_modes(columns: Columns) -> Ints:
    """By instruction, the position of the active REQUANTISE in force; -1 if results are not
    requantised, as before the first.

    Compute executes in program order, so that the last REQUANTISE before an instruction is in
    force. It has a meaning for GEMM and ALU.
    """
    position = np.arange(len(columns.opcode))
    last = np.maximum.accumulate(np.where(columns.opcode == Opcode.REQUANTISE, position, -1))
    return np.where((last >= 0) & (columns.active[last] == 1), last, -1)


def last_parameters(columns: Columns, modes: Ints) -> Ints:
    """By instruction, the greatest element of PAR that it reads; -1 if it reads none.

    `modes` are the `active_modes`; loop counts must not be 0.
    """
    computes, *_ = operands_used(columns)
    reads = computes & (modes >= 0)
    outer = (columns.iter_out - 1) * columns.par_factor_out[modes]
    inner = (columns.iter_in - 1) * columns.par_factor_in[modes]
    return np.where(reads, columns.par_base[modes] + outer + inner, -1)
