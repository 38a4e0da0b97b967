"""A NumPy emulator of the base instruction set's ALU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tandem.compiler.machines.accelerator.templates.alu_lowering import (
    AluOperation,
    AluRequantisation,
)
from tandem.compiler.requantisation.channels import broadcast_along_axis, checked_int32

Signed = npt.NDArray[np.signedinteger[Any]]


def emulate(
    operations: Iterable[AluOperation], acc: Signed, axis: int | None = None
) -> npt.NDArray[np.int32]:
    """The accumulators after the operations, on a machine with 32 bits.

    Parameters
    ----------
    operations
        The operations, in order of execution.
    acc
        Signed integers of any shape, each of which fits 32 bits.
    axis
        The dimension of `acc` that counts channels; needed if an operand is per channel.

    Raises
    ------
    QuantisationError
        A value in `acc` over 32 bits, or an axis that does not suit an operand.
    """
    lanes = checked_int32("emulate", acc)
    for operation in operations:
        match operation.operand:
            case (value,) | int(value):
                operand = np.array(value)
            case values:
                operand = broadcast_along_axis("emulate", values, acc.shape, axis)
        lanes = operation.op.apply(lanes, operand.astype(np.int32))
    return lanes


def emulate_requantisation(
    lowered: AluRequantisation,
    acc: Signed,
    axis: int | None = None,
    residuals: Sequence[Signed] = (),
) -> npt.NDArray[np.int32]:
    """The outputs of a lowered requantisation on a machine with 32 bits. Raises the errors of
    `emulate`.
    """
    total = emulate(lowered.accumulator, acc, axis)
    for operations, values in zip(lowered.residuals, residuals, strict=True):
        added = total.astype(np.int64) + emulate(operations, values, axis)
        total = added.astype(np.int32)
    return emulate(lowered.output, total, axis)
