"""The operations of the ALU that a configuration brings along, executed step by step.

They are a table of steps, and no compiled code of their own: machines differ in it. Each step is
done for all lanes of an accumulator before the next one.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

import numpy as np
import numpy.typing as npt

from tandem.base.jit import compiled, inlined
from tandem.hw.alu_terms import Binary, Cast, Name, Number, Term, TermOp
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.isa.columns import (
    ALU_OPCODE,
    DST_FACTOR_IN,
    DST_FACTOR_OUT,
    FROM_INP,
    IMM,
    ITER_IN,
    SRC_FACTOR_IN,
    SRC_FACTOR_OUT,
    UOP_BGN,
    UOP_END,
    USE_IMM,
    InstructionFields,
)
from tandem.hw.operations import ALU_OPCODE_BITS
from tandem.sim.semantics.chip import LANES, Chip

Ints = npt.NDArray[np.int64]

FIRST, SECOND, STEPS = range(3)
"""The slots of the two operands; behind them, those of the steps' results."""
KIND, LEFT, RIGHT = range(3)
"""The columns of a step. Of a number, LEFT is its value; of a parameter, LEFT is its lowest bit in
the immediate and RIGHT its width; of a cast, LEFT is the slot and RIGHT the width; of an operator,
they are the slots of its operands."""
NUMBER, UNSIGNED, SIGNED, LOW_BITS, LOW_SIGNED = range(5)
"""Kinds of steps with no operand, and casts; operators have the numbers behind them."""
ADD, SUB, MUL, SHR, SHL, AND, OR, XOR, MIN, MAX = range(5, 15)
_OPERATORS = {
    TermOp.ADD: ADD,
    TermOp.SUB: SUB,
    TermOp.MUL: MUL,
    TermOp.SHR: SHR,
    TermOp.SHL: SHL,
    TermOp.AND: AND,
    TermOp.OR: OR,
    TermOp.XOR: XOR,
    TermOp.MIN: MIN,
    TermOp.MAX: MAX,
}


class CustomCode(NamedTuple):
    """The custom operations of a machine, for compiled code."""

    steps: Ints
    """The steps of all operations: rows of KIND, LEFT and RIGHT."""
    begins: Ints
    """By opcode, the first step; and one entry more, where the last operation's steps end."""
    results: Ints
    """By opcode, the slot of the result; -1: no custom operation."""
    values: Ints
    """Space for the values of all slots, a row of lanes for each."""


def make_custom_code(config: HardwareConfig) -> CustomCode | None:
    """The custom operations of a machine; None if it has none."""
    if not config.alu_operations:
        return None
    numbers = 1 << ALU_OPCODE_BITS
    steps: list[tuple[int, int, int]] = []
    begins, results = np.zeros(numbers + 1, np.int64), np.full(numbers, -1, np.int64)
    most = 0
    for number in range(numbers):
        begins[number] = len(steps)
        operation = config.custom_operations.get(number)
        if operation is not None:
            own = _Steps(operation)
            results[number] = own.slot(operation.result)
            steps += own.steps
            most = max(most, len(own.steps))
        begins[number + 1] = len(steps)
    lanes = config.batch * -(-config.block_out // LANES) * LANES
    table = np.array(steps, np.int64).reshape(-1, 3)
    return CustomCode(table, begins, results, np.zeros((STEPS + most, lanes), np.int64))


class _Steps:
    """The steps of one operation; equal terms have one."""

    def __init__(self, operation: CustomOperation) -> None:
        self.steps: list[tuple[int, int, int]] = []
        self._slots: dict[Term, int] = {Name("a"): FIRST, Name("b"): SECOND}
        lowest = 0
        for parameter in operation.parameters:
            kind = SIGNED if parameter.signed else UNSIGNED
            self._add(Name(parameter.name), (kind, lowest, parameter.width))
            lowest += parameter.width

    def slot(self, term: Term) -> int:
        """The slot of a term's value, after the steps that it takes."""
        if term not in self._slots:
            match term:
                case Number():
                    self._add(term, (NUMBER, term.value, 0))
                case Cast(saturates=True):
                    low, high = map(Number, term.limits)
                    above = Binary(TermOp.MAX, term.term, low)
                    self._slots[term] = self.slot(Binary(TermOp.MIN, above, high))
                case Cast():
                    kind = LOW_SIGNED if term.signed else LOW_BITS
                    self._add(term, (kind, self.slot(term.term), term.width))
                case Binary():
                    left, right = self.slot(term.left), self.slot(term.right)
                    self._add(term, (_OPERATORS[term.op], left, right))
                case Name():
                    raise AssertionError(f"{term.name} is neither operand nor parameter")
                case _:
                    assert_never(term)
        return self._slots[term]

    def _add(self, term: Term, step: tuple[int, int, int]) -> None:
        self._slots[term] = STEPS + len(self.steps)
        self.steps.append(step)


@compiled
def custom_alu(chip: Chip, code: CustomCode, row: InstructionFields, start: int, stop: int) -> None:
    """Execute micro-ops [start, stop) of a custom operation; their indices are in bounds."""
    count, inner = row[UOP_END] - row[UOP_BGN], row[ITER_IN]
    lanes = chip.batch * chip.row_out
    for position in range(start, stop):
        iteration, k = divmod(position, count)
        o, i = divmod(iteration, inner)
        word = int(chip.uop[row[UOP_BGN] + k])
        dst = o * row[DST_FACTOR_OUT] + i * row[DST_FACTOR_IN] + (word & chip.dst_mask)
        src = o * row[SRC_FACTOR_OUT] + i * row[SRC_FACTOR_IN]
        src += word >> chip.src_shift & chip.src_mask
        for lane in range(lanes):
            code.values[FIRST, lane] = chip.acc[dst * lanes + lane]
        _take_second(chip, code, row, src, lanes)
        _do_steps(code, row, lanes)
        result = code.results[row[ALU_OPCODE]]
        for lane in range(lanes):
            value = code.values[result, lane]
            chip.acc[dst * lanes + lane] = (value + (1 << 31) & 0xFFFFFFFF) - (1 << 31)


@inlined
def _take_second(
    chip: Chip, code: CustomCode, row: InstructionFields, src: int, lanes: int
) -> None:
    """The second operand: an immediate, an accumulator, or an element of INP."""
    if row[USE_IMM]:
        for lane in range(lanes):
            code.values[SECOND, lane] = row[IMM]
    elif row[FROM_INP]:
        for lane in range(lanes):
            b, channel = divmod(lane, chip.row_out)
            if channel < chip.block_out:
                at = (src * chip.batch + b) * chip.row_in + channel
                code.values[SECOND, lane] = chip.inp[at]
    else:
        for lane in range(lanes):
            code.values[SECOND, lane] = chip.acc[src * lanes + lane]


@inlined
def _do_steps(code: CustomCode, row: InstructionFields, lanes: int) -> None:
    """All steps of the operation, in their order."""
    begin = code.begins[row[ALU_OPCODE]]
    for number in range(begin, code.begins[row[ALU_OPCODE] + 1]):
        kind, left, right = (
            code.steps[number, KIND],
            code.steps[number, LEFT],
            code.steps[number, RIGHT],
        )
        to = STEPS + number - begin
        if kind <= SIGNED:
            value = left
            if kind != NUMBER:
                value = row[IMM] >> left & (1 << right) - 1
            if kind == SIGNED and value >> right - 1:
                value -= 1 << right
            for lane in range(lanes):
                code.values[to, lane] = value
        elif kind <= LOW_SIGNED:
            least = 1 << right - 1 if kind == LOW_SIGNED else 0
            for lane in range(lanes):
                value = code.values[left, lane]
                code.values[to, lane] = (value + least & (1 << right) - 1) - least
        else:
            second = code.values[right]
            for lane in range(lanes):
                code.values[to, lane] = _operate(kind, code.values[left, lane], second[lane])


@inlined
def _operate(kind: int, left: int, right: int) -> int:
    """The result of an operator; `WIDEST` bits hold it."""
    if kind == ADD:
        return left + right
    if kind == SUB:
        return left - right
    if kind == MUL:
        return left * right
    if kind == SHR:
        return left >> right
    if kind == SHL:
        return left << right
    if kind == AND:
        return left & right
    if kind == OR:
        return left | right
    if kind == XOR:
        return left ^ right
    if kind == MIN:
        return min(left, right)
    return max(left, right)
