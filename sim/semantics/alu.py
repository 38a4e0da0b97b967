"""ALU: ACC[dst] = op(ACC[dst], b), where b is an immediate or ACC[src], lane by lane."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hw.encoding import AluOp
from hw.jit import compiled, inlined
from sim.semantics.chip import Chip
from sim.semantics.detail import INDEX, NONE, SHIFT, SRAM_INDEX, VALUE, Detail
from sim.semantics.fields import ALU_OPCODE, IMM, USE_IMM, Row
from sim.semantics.loops import room, sweeping
from sim.semantics.view import view

__all__ = ["alu"]

MIN = int(AluOp.MIN)
MAX = int(AluOp.MAX)
ADD = int(AluOp.ADD)
SHR = int(AluOp.SHR)
MAX_SHIFT = 31

Lanes = npt.NDArray[np.int32]

# One loop over lanes for each operation, so that LLVM makes vectors of it.


@inlined
def _immediate(chip: Chip, row: Row, dst: int, src: int, wgt: int, detail: Detail) -> int:
    lanes = chip.batch * chip.row_out
    to = view(chip.acc, dst * lanes, lanes)
    operation, b = row[ALU_OPCODE], row[IMM]
    if operation == MIN:
        for k in range(len(to)):
            to[k] = min(int(to[k]), b)
    elif operation == MAX:
        for k in range(len(to)):
            to[k] = max(int(to[k]), b)
    elif operation == ADD:
        for k in range(len(to)):
            to[k] = _wrapped(int(to[k]) + b)
    elif operation == SHR:
        for k in range(len(to)):
            to[k] = _shifted(int(to[k]), b)
    else:
        for k in range(len(to)):
            to[k] = _wrapped(int(to[k]) * b)
    return NONE


@inlined
def _tensor(chip: Chip, row: Row, dst: int, src: int, wgt: int, detail: Detail) -> int:
    lanes = chip.batch * chip.row_out
    to = view(chip.acc, dst * lanes, lanes)
    b = view(chip.acc, src * lanes, lanes)
    operation = row[ALU_OPCODE]
    if operation == MIN:
        for k in range(len(to)):
            to[k] = min(int(to[k]), int(b[k]))
    elif operation == MAX:
        for k in range(len(to)):
            to[k] = max(int(to[k]), int(b[k]))
    elif operation == ADD:
        for k in range(len(to)):
            to[k] = _wrapped(int(to[k]) + int(b[k]))
    else:
        for k in range(len(to)):
            to[k] = _wrapped(int(to[k]) * int(b[k]))
    return NONE


@inlined
def _tensor_shift(chip: Chip, row: Row, dst: int, src: int, wgt: int, detail: Detail) -> int:
    """SHR by an accumulator, refused where an amount would shift everything out."""
    fault = NONE
    for b in range(chip.batch):
        amounts = view(chip.acc, (src * chip.batch + b) * chip.row_out, chip.block_out)
        refused = 0
        for k in range(len(amounts)):
            refused += int(amounts[k]) < -MAX_SHIFT or int(amounts[k]) > MAX_SHIFT
        if refused > 0:
            for k in range(len(amounts)):
                if int(amounts[k]) < -MAX_SHIFT or int(amounts[k]) > MAX_SHIFT:
                    detail[INDEX] = src
                    detail[VALUE] = int(amounts[k])
            fault = SHIFT
    if fault == NONE:
        for b in range(chip.batch):
            amounts = view(chip.acc, (src * chip.batch + b) * chip.row_out, chip.block_out)
            to = view(chip.acc, (dst * chip.batch + b) * chip.row_out, chip.block_out)
            for k in range(len(to)):
                to[k] = _shifted(int(to[k]), int(amounts[k]))
    return fault


@inlined
def _wrapped(value: int) -> int:
    """`value` mod 2^32, as a signed number."""
    return (value + (1 << 31) & 0xFFFFFFFF) - (1 << 31)


@inlined
def _shifted(a: int, b: int) -> int:
    """`a` shifted right arithmetically by b, or left by -b."""
    return _wrapped(a >> max(b, 0) << max(-b, 0))


_SWEEP_IMMEDIATE = sweeping(_immediate)
_SWEEP_TENSOR = sweeping(_tensor)
_SWEEP_TENSOR_SHIFT = sweeping(_tensor_shift)


@compiled
def alu(chip: Chip, row: Row, start: int, stop: int, detail: Detail) -> int:
    """Do micro-ops [start, stop) of an ALU instruction that breaks no static rule.

    Returns a fault's code, or 0. The micro-ops before the one at fault have been done.
    """
    limit = room(chip, row, detail)
    end = min(stop, limit)
    if row[USE_IMM]:
        fault = _SWEEP_IMMEDIATE(chip, row, start, end, detail)
    elif row[ALU_OPCODE] == SHR:
        fault = _SWEEP_TENSOR_SHIFT(chip, row, start, end, detail)
    else:
        fault = _SWEEP_TENSOR(chip, row, start, end, detail)
    if fault == NONE and stop > limit:
        return SRAM_INDEX
    return fault
