"""What passes of the base ISA's ALU leave of accumulators, by NumPy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.requantisation import AluStep, ResidualSpec
from compiler.requantisation.channels import along, checked_int32
from compiler.requantisation.residual_lowering import ResidualSteps

__all__ = ["emulate", "emulate_residual", "residual_reference"]


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
                operand = np.array(value)
            case values:
                operand = along("emulate", values, acc.shape, axis)
        lanes = step.op.apply(lanes, operand.astype(np.int32))
    return lanes


def emulate_residual(
    steps: ResidualSteps,
    acc: npt.NDArray[np.signedinteger[Any]],
    skip: npt.NDArray[np.signedinteger[Any]],
    axis: int | None = None,
) -> npt.NDArray[np.int32]:
    """What the passes leave on a machine with 32 bits. Raises as `emulate`."""
    left = emulate(steps.acc, acc, axis).astype(np.int64)
    total = (left + emulate(steps.skip, skip, axis)).astype(np.int32)
    return emulate(steps.total, total, axis)


def residual_reference(
    spec: ResidualSpec,
    acc: npt.NDArray[np.signedinteger[Any]],
    skip: npt.NDArray[np.signedinteger[Any]],
    axis: int | None = None,
) -> npt.NDArray[np.int64]:
    """The outputs of a residual sum, of values within the specification's limits."""
    m, c = (along("reference", each, acc.shape, axis) for each in (spec.multiplier, spec.addend))
    total = acc.astype(np.int64) * m + c + skip.astype(np.int64) * spec.skip_multiplier
    outputs: npt.NDArray[np.int64] = np.clip(total >> spec.shift, spec.low, spec.high)
    return outputs
