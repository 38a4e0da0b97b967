"""Passes of the base ISA's ALU over accumulators, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.errors import QuantisationError
from compiler.requantisation.channels import INT16, INT32, check_range
from hw.operations import MAX_SHIFT, AluOp

__all__ = ["AluStep", "alu_step", "needed_steps"]

SHIFTS = (-MAX_SHIFT, MAX_SHIFT)


@dataclass(frozen=True, slots=True)
class AluStep:
    """ACC = op(ACC, operand), for every accumulator.

    Attributes
    ----------
    op
        The operation.
    operand
        A number: an immediate, signed, 16 bits. A tuple: int32 values that have to lie in ACC, one
        for each channel, or a single one that serves all channels and is no immediate.

    Raises
    ------
    QuantisationError
        Where the instruction could not hold the operand.
    """

    op: AluOp
    operand: int | tuple[int, ...]

    def __post_init__(self) -> None:
        low, high = INT32 if isinstance(self.operand, tuple) else INT16
        if self.op is AluOp.SHR:
            low, high = SHIFTS
        check_range(f"{self.op.name}: operand", self.operand, low, high)
        if self.operand == ():
            raise QuantisationError(f"{self.op.name}: an operand for no channel")


def alu_step(op: AluOp, values: Sequence[int]) -> AluStep:
    """The pass with an int32 operand for each channel, in its cheapest form."""
    if any(value != values[0] for value in values):
        return AluStep(op, tuple(values))
    low, high = INT16
    return AluStep(op, values[0] if low <= values[0] <= high else (values[0],))


def needed_steps(*asked: tuple[AluOp, Sequence[int], int]) -> tuple[AluStep, ...]:
    """Passes of an operation, its operands and the operand with which it does nothing, without
    those that do nothing."""
    return tuple(
        alu_step(op, values) for op, values, idle in asked if any(each != idle for each in values)
    )
