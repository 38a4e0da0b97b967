"""The writes of OUT: what becomes of the results of GEMM and ALU.

OUT is written by a second pass over the micro-ops of an instruction, after they have written ACC:
OUT[dst] from ACC[dst]. That is right because nothing but STORE reads OUT, so only the last write of
an element counts, and the last micro-op that writes an element leaves its result in ACC. Where
several micro-ops write an element, the pass takes them in order, and the last one, with its own
parameters, has the last word. So it may leave out every write that a later one replaces: those of a
loop without a factor for dst, but for its last iteration, and of micro-ops with the same dst in
succession.

The pass covers the micro-ops that have been executed, of an instruction cut into slices or stopped
by a fault: OUT then holds their results, and those of the next slice replace them.
"""

from __future__ import annotations

from collections.abc import Callable

from tandem.base.jit import compiled, inlined
from tandem.hw.isa.columns import (
    ACTIVE,
    ALU_OPCODE,
    DST_FACTOR_IN,
    DST_FACTOR_OUT,
    FROM_INP,
    HIGH,
    ITER_IN,
    ITER_OUT,
    LOW,
    PAR_BASE,
    PAR_FACTOR_IN,
    PAR_FACTOR_OUT,
    SCALE,
    SRC_FACTOR_IN,
    SRC_FACTOR_OUT,
    UOP_BGN,
    UOP_END,
    InstructionFields,
)
from tandem.hw.operations import AluOp
from tandem.sim.semantics.chip import Chip
from tandem.sim.semantics.requantiser import PARAMETER_ROWS, Requantiser
from tandem.sim.semantics.view import view

RESIDUAL = int(AluOp.RESIDUAL)

Write = Callable[[Chip, Requantiser, int, int, int], None]
"""A function (chip, requantiser, dst, src, par) that writes OUT[dst]; par is an index in bounds if
the mode is active, and src if the instruction is a RESIDUAL."""


@inlined
def _low_byte(chip: Chip, requantiser: Requantiser, dst: int, src: int, par: int) -> None:
    lanes = chip.batch * chip.row_out
    values = view(chip.acc, dst * lanes, lanes)
    to = view(requantiser.out, dst * lanes, lanes)
    for k in range(len(to)):
        to[k] = values[k] & 0xFF


@inlined
def _clipped(value: int, low: int, high: int) -> int:
    """`low` has precedence where it lies above `high`."""
    return low if value < low else min(value, high)


@inlined
def _requantise(chip: Chip, requantiser: Requantiser, dst: int, src: int, par: int) -> None:
    low, high = requantiser.mode[LOW], requantiser.mode[HIGH]
    first = par * PARAMETER_ROWS * chip.row_out
    addends = view(requantiser.par, first, chip.row_out)
    multipliers = view(requantiser.par, first + chip.row_out, chip.row_out)
    shifts = view(requantiser.par, first + 2 * chip.row_out, chip.row_out)
    for b in range(chip.batch):
        start = (dst * chip.batch + b) * chip.row_out
        values = view(chip.acc, start, chip.row_out)
        to = view(requantiser.out, start, chip.row_out)
        for k in range(len(to)):
            total = int(values[k]) * int(multipliers[k]) + int(addends[k])
            to[k] = _clipped(total >> int(shifts[k]), low, high) & 0xFF


@inlined
def _requantise_residual(
    chip: Chip, requantiser: Requantiser, dst: int, src: int, par: int
) -> None:
    low, high, scale = requantiser.mode[LOW], requantiser.mode[HIGH], requantiser.mode[SCALE]
    first = par * PARAMETER_ROWS * chip.row_out
    addends = view(requantiser.par, first, chip.block_out)
    multipliers = view(requantiser.par, first + chip.row_out, chip.block_out)
    shifts = view(requantiser.par, first + 2 * chip.row_out, chip.block_out)
    for b in range(chip.batch):
        start = (dst * chip.batch + b) * chip.row_out
        values = view(chip.acc, start, chip.block_out)
        to = view(requantiser.out, start, chip.block_out)
        residuals = view(chip.inp, (src * chip.batch + b) * chip.row_in, chip.block_out)
        for k in range(len(to)):
            total = int(values[k]) * int(multipliers[k]) + int(addends[k])
            total += int(residuals[k]) * scale
            to[k] = _clipped(total >> int(shifts[k]), low, high) & 0xFF


def _pass(write: Write) -> Callable[[Chip, Requantiser, InstructionFields, int, int], None]:
    """Compile the pass over micro-ops [start, stop) with one way to write OUT."""

    def sweep(
        chip: Chip, requantiser: Requantiser, row: InstructionFields, start: int, stop: int
    ) -> None:
        count = row[UOP_END] - row[UOP_BGN]
        words = view(chip.uop, row[UOP_BGN], count)
        iter_out, iter_in = row[ITER_OUT], row[ITER_IN]
        dst_out, dst_in = row[DST_FACTOR_OUT], row[DST_FACTOR_IN]
        src_out, src_in = row[SRC_FACTOR_OUT], row[SRC_FACTOR_IN]
        par_out, par_in = requantiser.mode[PAR_FACTOR_OUT], requantiser.mode[PAR_FACTOR_IN]
        par_base = requantiser.mode[PAR_BASE]
        u = start % count
        i = start // count % iter_in
        o = start // count // iter_in
        position = start - u
        while position < stop:
            # An iteration is replaced by the next of a loop that does not move dst, if that is
            # executed to its end.
            again_in = dst_in == 0 and i + 1 < iter_in and position + 2 * count <= stop
            again_out = (
                dst_out == 0 and o + 1 < iter_out and position + (iter_in + 1) * count <= stop
            )
            if not (again_in or again_out):
                dst = o * dst_out + i * dst_in
                src = o * src_out + i * src_in
                par = par_base + o * par_out + i * par_in
                end = min(count, stop - position)
                k = u
                while k < end:
                    # The last of the micro-ops with this dst in succession.
                    word = int(words[k])
                    k += 1
                    while k < end and not (int(words[k]) ^ word) & chip.dst_mask:
                        k += 1
                    word = int(words[k - 1])
                    write(
                        chip,
                        requantiser,
                        dst + (word & chip.dst_mask),
                        src + (word >> chip.src_shift & chip.src_mask),
                        par,
                    )
            position += count
            u = 0
            i += 1
            if i == iter_in:
                i = 0
                o += 1

    return compiled(sweep)


_LOW_BYTES = _pass(_low_byte)
_REQUANTISED = _pass(_requantise)
# Without operands from INP, the opcode is that of an operation of the machine's own.
_RESIDUALS = _pass(_requantise_residual)


@compiled
def write_out(
    chip: Chip, requantiser: Requantiser, row: InstructionFields, start: int, stop: int
) -> None:
    """Write to OUT the results of micro-ops [start, stop), executed, of a GEMM or ALU."""
    if not requantiser.mode[ACTIVE]:
        _LOW_BYTES(chip, requantiser, row, start, stop)
    elif row[ALU_OPCODE] == RESIDUAL and row[FROM_INP]:
        _RESIDUALS(chip, requantiser, row, start, stop)
    else:
        _REQUANTISED(chip, requantiser, row, start, stop)
