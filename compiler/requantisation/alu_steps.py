"""Passes of the base ISA's ALU over accumulators, as values, and what they do to an array.

The meaning is the ISA's own: MIN and MAX signed, ADD and MUL mod 2^32, SHR arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.errors import QuantisationError
from compiler.requantisation.channels import INT32, along, check_range, checked_int32
from hw.encoding import AluOp

__all__ = ["AluStep", "alu_step", "emulate"]

IMMEDIATE = (-(1 << 15), (1 << 15) - 1)
SHIFTS = (-31, 31)


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
        low, high = INT32 if isinstance(self.operand, tuple) else IMMEDIATE
        if self.op is AluOp.SHR:
            low, high = SHIFTS
        check_range(f"{self.op.name}: operand", self.operand, low, high)
        if self.operand == ():
            raise QuantisationError(f"{self.op.name}: an operand for no channel")


def alu_step(op: AluOp, values: Sequence[int]) -> AluStep:
    """The pass with an int32 operand for each channel, in its cheapest form."""
    if any(value != values[0] for value in values):
        return AluStep(op, tuple(values))
    low, high = IMMEDIATE
    return AluStep(op, values[0] if low <= values[0] <= high else (values[0],))


def emulate(
    steps: Iterable[AluStep], acc: npt.NDArray[np.signedinteger[Any]], axis: int | None = None
) -> npt.NDArray[np.int32]:
    """What `steps` leave of the accumulators `acc` on a machine with 32 bits.

    Parameters
    ----------
    steps
        The passes, first to last.
    acc
        Signed integers of any shape, each of which fits 32 bits.
    axis
        The dimension of `acc` that counts channels; needed where an operand has many.

    Raises
    ------
    QuantisationError
        A number in `acc` over 32 bits, or an axis that does not suit an operand.
    """
    lanes = checked_int32("emulate", acc)
    for step in steps:
        match step.operand:
            case (value,) | int(value):
                operand = np.array(value, np.int64)
            case values:
                operand = along("emulate", values, acc.shape, axis)
        lanes = _applied(step.op, lanes.astype(np.int64), operand).astype(np.int32)
    return lanes


def _applied(
    op: AluOp, lanes: npt.NDArray[np.int64], operand: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The operation on int32 values, which 64 bits hold without loss."""
    match op:
        case AluOp.MIN:
            return np.minimum(lanes, operand)
        case AluOp.MAX:
            return np.maximum(lanes, operand)
        case AluOp.ADD:
            return lanes + operand
        case AluOp.SHR:
            return (lanes >> np.maximum(operand, 0)) << np.maximum(-operand, 0)
        case AluOp.MUL:
            return lanes * operand
