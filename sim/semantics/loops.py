"""The loops of GEMM and ALU: o < iter_out, i < iter_in, u in [uop_bgn, uop_end).

The micro-ops of an instruction, over all loops, are numbered in their order, so that a long
instruction can be executed in slices [start, stop). Every index is a micro-op's field plus o and i
times factors that are not negative: it is greatest in the last iteration, and bounds are checked
before the loops start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy.typing as npt

from tandem.base.jit import compiled
from tandem.hw.isa.columns import (
    DST_FACTOR_IN,
    DST_FACTOR_OUT,
    ITER_IN,
    ITER_OUT,
    SRC_FACTOR_IN,
    SRC_FACTOR_OUT,
    UOP_BGN,
    UOP_END,
    WGT_FACTOR_IN,
    WGT_FACTOR_OUT,
    InstructionFields,
)
from tandem.hw.topology import MemoryId
from tandem.sim.semantics.chip import Chip
from tandem.sim.semantics.detail import INDEX, MEMORY, NONE, POSITION, Detail
from tandem.sim.semantics.operands import operands_used_inline

Body = Callable[[Chip, InstructionFields, int, int, int, Detail], int]
"""A function that executes one micro-op with the indices dst, src and wgt; returns a fault's code,
or 0."""

MicroOpLoop = Callable[[Chip, InstructionFields, int, int, Detail], int]
"""A function that executes micro-ops [start, stop); returns a fault's code, or 0."""


class MicroOpMemory(Protocol):
    """The micro-op memory and the sizes that its indices must respect: part of a `Chip`."""

    @property
    def uop(self) -> npt.NDArray[Any]: ...
    @property
    def src_shift(self) -> int: ...
    @property
    def wgt_shift(self) -> int: ...
    @property
    def dst_mask(self) -> int: ...
    @property
    def src_mask(self) -> int: ...
    @property
    def wgt_mask(self) -> int: ...
    @property
    def inp_depth(self) -> int: ...
    @property
    def wgt_depth(self) -> int: ...
    @property
    def acc_depth(self) -> int: ...


ACC = int(MemoryId.ACC)
INP = int(MemoryId.INP)
WGT = int(MemoryId.WGT)


@compiled
def micro_ops(row: InstructionFields) -> int:
    """The number of micro-ops of a GEMM or ALU, loops included."""
    return int((row[UOP_END] - row[UOP_BGN]) * row[ITER_OUT] * row[ITER_IN])


def with_loops(body: Body) -> MicroOpLoop:
    """Compile the loops around `body`, whose indices must be in bounds."""

    def sweep(chip: Chip, row: InstructionFields, start: int, stop: int, detail: Detail) -> int:
        # Copied to variables, else compiled code would reread them after each write to ACC.
        bgn, count, iter_in = row[UOP_BGN], row[UOP_END] - row[UOP_BGN], row[ITER_IN]
        dst_out, dst_in = row[DST_FACTOR_OUT], row[DST_FACTOR_IN]
        src_out, src_in = row[SRC_FACTOR_OUT], row[SRC_FACTOR_IN]
        wgt_out, wgt_in = row[WGT_FACTOR_OUT], row[WGT_FACTOR_IN]
        u = start % count
        i = start // count % iter_in
        o = start // count // iter_in
        position = start
        while position < stop:
            dst = o * dst_out + i * dst_in
            src = o * src_out + i * src_in
            wgt = o * wgt_out + i * wgt_in
            end = min(count, u + stop - position)
            for k in range(u, end):
                word = int(chip.uop[bgn + k])
                fault = body(
                    chip,
                    row,
                    dst + (word & chip.dst_mask),
                    src + (word >> chip.src_shift & chip.src_mask),
                    wgt + (word >> chip.wgt_shift & chip.wgt_mask),
                    detail,
                )
                if fault != NONE:
                    detail[POSITION] = position + k - u
                    return fault
            position += end - u
            u = 0
            i += 1
            if i == iter_in:
                i = 0
                o += 1
        return NONE

    return compiled(sweep)


@compiled
def micro_ops_in_bounds(chip: MicroOpMemory, row: InstructionFields, detail: Detail) -> int:
    """The number of micro-ops before the first with an index out of bounds, or of all micro-ops.

    Only operands in use are checked: not INP and WGT with reset, nor src with an immediate.
    `detail` gets that index.
    """
    _, reads_inp, reads_wgt, reads_acc = operands_used_inline(row)
    dst_out, dst_in = row[DST_FACTOR_OUT], row[DST_FACTOR_IN]
    src_out, src_in = row[SRC_FACTOR_OUT], row[SRC_FACTOR_IN]
    wgt_out, wgt_in = row[WGT_FACTOR_OUT], row[WGT_FACTOR_IN]
    count = row[UOP_END] - row[UOP_BGN]
    nearest = micro_ops(row)
    for k in range(count):
        word = int(chip.uop[row[UOP_BGN] + k])
        dst = word & chip.dst_mask
        nearest = nearer(row, nearest, k, dst, dst_out, dst_in, ACC, chip.acc_depth, detail)
        src = word >> chip.src_shift & chip.src_mask
        if reads_inp or reads_acc:
            memory = INP if reads_inp else ACC
            depth = chip.inp_depth if reads_inp else chip.acc_depth
            nearest = nearer(row, nearest, k, src, src_out, src_in, memory, depth, detail)
        if reads_wgt:
            wgt = word >> chip.wgt_shift & chip.wgt_mask
            nearest = nearer(row, nearest, k, wgt, wgt_out, wgt_in, WGT, chip.wgt_depth, detail)
    return nearest


@compiled
def nearer(
    row: InstructionFields,
    nearest: int,
    k: int,
    field: int,
    outer: int,
    inner: int,
    memory: int,
    depth: int,
    detail: Detail,
) -> int:
    """The lesser of `nearest` and the first micro-op whose index from `field` reaches `depth`.

    `field` is from the k-th micro-op word of the instruction; `outer` and `inner` are the factors
    of its loops.
    """
    most_i = row[ITER_IN] - 1
    if field + (row[ITER_OUT] - 1) * outer + most_i * inner < depth:
        return nearest
    o = max(0, depth - field - most_i * inner)
    if o > 0:
        o = -(-o // outer)
    i = max(0, depth - field - o * outer)
    if i > 0:
        i = -(-i // inner)
    position = (o * row[ITER_IN] + i) * (row[UOP_END] - row[UOP_BGN]) + k
    if position < nearest:
        detail[POSITION] = position
        detail[MEMORY] = memory
        detail[INDEX] = field + o * outer + i * inner
        return int(position)
    return nearest
