"""GEMM: ACC[dst] += INP[src] x WGT[wgt]^T; with `overwrite` =, and with `reset` ACC[dst] = 0."""

from __future__ import annotations

from tandem.base.jit import compiled, inlined
from tandem.hw.isa.columns import OVERWRITE, RESET_REG, InstructionFields
from tandem.sim.semantics.chip import LANES, Chip
from tandem.sim.semantics.detail import NONE, SRAM_INDEX, Detail
from tandem.sim.semantics.dot import dot
from tandem.sim.semantics.loops import micro_ops_in_bounds, with_loops
from tandem.sim.semantics.view import view


@inlined
def _accumulate(
    chip: Chip, row: InstructionFields, dst: int, src: int, wgt: int, detail: Detail
) -> int:
    inp = src * chip.batch * chip.row_in
    acc = dst * chip.batch * chip.row_out
    for _ in range(chip.batch):
        weights = wgt * chip.row_out * chip.row_in
        for _ in range(0, chip.row_out, LANES):
            dot(chip.acc, acc, chip.inp, inp, chip.wgt, weights, chip.pairs)
            acc += LANES
            weights += LANES * chip.row_in
        inp += chip.row_in
    return NONE


@inlined
def _accumulate_vector(
    chip: Chip, row: InstructionFields, dst: int, src: int, wgt: int, detail: Detail
) -> int:
    """`_accumulate` for elements of one vector, without the overhead of its loops."""
    weights = wgt * LANES * chip.row_in
    dot(chip.acc, dst * LANES, chip.inp, src * chip.row_in, chip.wgt, weights, chip.pairs)
    return NONE


@inlined
def _reset(chip: Chip, row: InstructionFields, dst: int, src: int, wgt: int, detail: Detail) -> int:
    lanes = chip.batch * chip.row_out
    to = view(chip.acc, dst * lanes, lanes)
    for k in range(len(to)):
        to[k] = 0
    return NONE


@inlined
def _overwrite(
    chip: Chip, row: InstructionFields, dst: int, src: int, wgt: int, detail: Detail
) -> int:
    _reset(chip, row, dst, src, wgt, detail)
    return _accumulate(chip, row, dst, src, wgt, detail)


_SWEEP_BLOCK = with_loops(_accumulate)
_SWEEP_OVERWRITE = with_loops(_overwrite)
_SWEEP_VECTOR = with_loops(_accumulate_vector)
_SWEEP_RESET = with_loops(_reset)


@compiled
def gemm(chip: Chip, row: InstructionFields, start: int, stop: int, detail: Detail) -> int:
    """Execute micro-ops [start, stop) of a GEMM that `hw.isa.validate` accepts.

    Returns a fault's code, or 0. The micro-ops before the one at fault have been done.
    """
    limit = micro_ops_in_bounds(chip, row, detail)
    end = min(stop, limit)
    if row[RESET_REG]:
        _SWEEP_RESET(chip, row, start, end, detail)
    elif row[OVERWRITE]:
        _SWEEP_OVERWRITE(chip, row, start, end, detail)
    elif chip.batch == 1 and chip.row_out == LANES:
        _SWEEP_VECTOR(chip, row, start, end, detail)
    else:
        _SWEEP_BLOCK(chip, row, start, end, detail)
    return SRAM_INDEX if stop > limit else NONE
