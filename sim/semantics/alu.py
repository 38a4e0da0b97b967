"""ALU: ACC[dst] = op(ACC[dst], b), where b is an immediate, ACC[src] or INP[src], lane by lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from tandem.base.jit import compiled, inlined
from tandem.hw.isa.columns import ALU_OPCODE, IMM, InstructionFields
from tandem.hw.operations import MAX_SHIFT, AluOp
from tandem.sim.semantics.chip import Chip
from tandem.sim.semantics.custom import CustomCode, custom_alu
from tandem.sim.semantics.detail import INDEX, NONE, SHIFT, SRAM_INDEX, VALUE, Detail
from tandem.sim.semantics.loops import Body, micro_ops_in_bounds, with_loops
from tandem.sim.semantics.operands import operands_used_inline
from tandem.sim.semantics.view import view

SHR = int(AluOp.SHR)
RESIDUAL = int(AluOp.RESIDUAL)

Lane = Callable[[int, int], int]
"""An operation on the values of one lane."""


def _lane(op: AluOp) -> Lane:
    """Compile the meaning of `op`, wrapped to 32 bits."""
    meaning = inlined(op.meaning)

    @inlined
    def lane(a: int, b: int) -> int:
        return (int(meaning(a, b)) + (1 << 31) & 0xFFFFFFFF) - (1 << 31)

    return lane


Values = npt.NDArray[Any]
LaneLoop = Callable[[int, Values, Any], None]
"""Applies the operation of an opcode to all lanes of `to`, with a number or the lanes of a view."""


# One loop over lanes for each operation, so that LLVM vectorises it.


def _with_number(lane: Lane) -> LaneLoop:
    """Compile the loop over lanes whose second operand is a number."""

    @inlined
    def with_number(opcode: int, to: Values, b: int) -> None:
        for k in range(len(to)):
            to[k] = lane(int(to[k]), b)

    return with_number


def _with_lanes(lane: Lane) -> LaneLoop:
    """Compile the loop over lanes whose second operand has lanes, too."""

    @inlined
    def with_lanes(opcode: int, to: Values, b: Values) -> None:
        for k in range(len(to)):
            to[k] = lane(int(to[k]), int(b[k]))

    return with_lanes


def _by_opcode(make: Callable[[Lane], LaneLoop], ops: Sequence[AluOp]) -> LaneLoop:
    """Compile a branch over `ops` to the loop that `make` returns for each of them."""
    first = make(_lane(ops[0]))
    if len(ops) == 1:
        return first
    chosen_here, remaining = int(ops[0]), _by_opcode(make, ops[1:])

    @inlined
    def chosen(opcode: int, to: Values, b: Any) -> None:
        if opcode == chosen_here:
            first(opcode, to, b)
        else:
            remaining(opcode, to, b)

    return chosen


_IMMEDIATE = _by_opcode(_with_number, tuple(AluOp))
_WITHOUT_SHIFT = tuple(op for op in AluOp if op is not AluOp.SHR)
"""Operations that cannot fail. RESIDUAL is among them, though `_input_operands` leaves it out, for
LLVM makes a table of consecutive opcodes: with gaps, the immediates take a sixth more time."""
_LANES = _by_opcode(_with_lanes, _WITHOUT_SHIFT)


@inlined
def _immediate(
    chip: Chip, row: InstructionFields, dst: int, src: int, wgt: int, detail: Detail
) -> int:
    """A micro-op with an immediate operand."""
    lanes = chip.batch * chip.row_out
    _IMMEDIATE(row[ALU_OPCODE], view(chip.acc, dst * lanes, lanes), row[IMM])
    return NONE


@inlined
def _acc_operand(
    chip: Chip, row: InstructionFields, dst: int, src: int, wgt: int, detail: Detail
) -> int:
    """A micro-op with an operand from ACC."""
    lanes = chip.batch * chip.row_out
    operands = view(chip.acc, src * lanes, lanes)
    _LANES(row[ALU_OPCODE], view(chip.acc, dst * lanes, lanes), operands)
    return NONE


@inlined
def _acc_row(chip: Chip, element: int, b: int) -> Values:
    """The lanes of a row of an accumulator."""
    return view(chip.acc, (element * chip.batch + b) * chip.row_out, chip.block_out)


@inlined
def _inp_row(chip: Chip, element: int, b: int) -> Values:
    """The values of a row of INP that meet the lanes of an accumulator."""
    return view(chip.inp, (element * chip.batch + b) * chip.row_in, chip.block_out)


@inlined
def _inp_operand(
    chip: Chip, row: InstructionFields, dst: int, src: int, wgt: int, detail: Detail
) -> int:
    """A micro-op with an operand from INP."""
    for b in range(chip.batch):
        _LANES(row[ALU_OPCODE], _acc_row(chip, dst, b), _inp_row(chip, src, b))
    return NONE


_SHIFTED = _with_lanes(_lane(AluOp.SHR))


def _shift_by(amounts_of: Callable[[Chip, int, int], Values]) -> Body:
    """Compile a SHR by the rows of an element; a fault, and nothing shifted, if an amount lies
    beyond MAX_SHIFT: `detail` gets the first."""

    @inlined
    def shift(
        chip: Chip, row: InstructionFields, dst: int, src: int, wgt: int, detail: Detail
    ) -> int:
        for b in range(chip.batch):
            amounts = amounts_of(chip, src, b)
            refused = 0
            for k in range(len(amounts)):
                refused += int(amounts[k]) < -MAX_SHIFT or int(amounts[k]) > MAX_SHIFT
            if refused > 0:
                k = 0
                while -MAX_SHIFT <= int(amounts[k]) <= MAX_SHIFT:
                    k += 1
                detail[INDEX] = src
                detail[VALUE] = int(amounts[k])
                return SHIFT
        for b in range(chip.batch):
            _SHIFTED(SHR, _acc_row(chip, dst, b), amounts_of(chip, src, b))
        return NONE

    return shift


_SWEEP_IMMEDIATE = with_loops(_immediate)
_SWEEP_ACC = with_loops(_acc_operand)
_SWEEP_ACC_SHIFT = with_loops(_shift_by(_acc_row))
_SWEEP_INP = with_loops(_inp_operand)
_SWEEP_INP_SHIFT = with_loops(_shift_by(_inp_row))


@compiled
def alu(
    chip: Chip,
    custom: CustomCode | None,
    row: InstructionFields,
    start: int,
    stop: int,
    detail: Detail,
) -> int:
    """Execute micro-ops [start, stop) of an ALU instruction that `hw.isa.validate` accepts.

    Returns a fault's code, or 0. The micro-ops before the one at fault have been done.
    """
    limit = micro_ops_in_bounds(chip, row, detail)
    end = min(stop, limit)
    fault = NONE
    is_custom = False
    if custom is not None:
        is_custom = custom.results[row[ALU_OPCODE]] >= 0
        if is_custom:
            custom_alu(chip, custom, row, start, end)
    _, reads_inp, _, reads_acc = operands_used_inline(row)
    if is_custom:
        pass
    elif reads_inp:
        fault = _input_operands(chip, row, start, end, detail)
    elif not reads_acc:
        fault = _SWEEP_IMMEDIATE(chip, row, start, end, detail)
    elif row[ALU_OPCODE] == SHR:
        fault = _SWEEP_ACC_SHIFT(chip, row, start, end, detail)
    else:
        fault = _SWEEP_ACC(chip, row, start, end, detail)
    if fault == NONE and stop > limit:
        return SRAM_INDEX
    return fault


@compiled
def _input_operands(
    chip: Chip, row: InstructionFields, start: int, stop: int, detail: Detail
) -> int:
    """What an ALU instruction with operands from INP does to ACC."""
    if row[ALU_OPCODE] == RESIDUAL:
        return NONE
    if row[ALU_OPCODE] == SHR:
        return _SWEEP_INP_SHIFT(chip, row, start, stop, detail)
    return _SWEEP_INP(chip, row, start, stop, detail)
