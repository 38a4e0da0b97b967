"""Requantisation as passes of the epilogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compiler.ir.dtypes import INT32
from compiler.operators.accelerator.epilogue import Pass
from compiler.operators.accelerator.packing import pack_channels
from compiler.requantisation import AluStep, RequantSpec, ResidualSpec
from compiler.te import Tensor, placeholder
from hw.config import HardwareConfig
from hw.encoding import AluOp

__all__ = ["RequantPasses", "requantise", "residual"]


@dataclass(frozen=True, slots=True)
class RequantPasses:
    """What a requantisation is on the ALU.

    Attributes
    ----------
    passes
        Operations, in order.
    values
        The numbers for each channel that they read, int32[O / L, B, L], by the tensors' names.
    """

    passes: tuple[Pass, ...]
    values: dict[str, npt.NDArray[np.generic]]


def requantise(
    spec: RequantSpec, channels: int, config: HardwareConfig, name: str
) -> RequantPasses:
    """The passes of the base instruction set that do what `spec` says.

    Parameters
    ----------
    channels
        Output channels; where `spec` has a number for each, as many. They are padded to blocks.
    name
        Tensors are called `{name}_0` and so on, by the pass that reads them.
    """
    return _passes(spec.steps(), channels, config, name)


def residual(
    spec: ResidualSpec, skip: Tensor, channels: int, config: HardwareConfig, name: str
) -> RequantPasses:
    """The passes of the base instruction set that do what `spec` says, `skip` being added.

    Parameters
    ----------
    skip
        int8, packed, of the output's shape.
    channels, name
        As `requantise`; tensors are called `{name}_sum_0`, `{name}_skip_0`, `{name}_total_0`.
    """
    steps = spec.steps()
    sums, skips, totals = (
        _passes(each, channels, config, f"{name}_{part}")
        for part, each in (("sum", steps.acc), ("skip", steps.skip), ("total", steps.total))
    )
    added = Pass(AluOp.ADD, skip, skips.passes)
    return RequantPasses(
        (*sums.passes, added, *totals.passes), {**sums.values, **skips.values, **totals.values}
    )


def _passes(
    steps: Sequence[AluStep], channels: int, config: HardwareConfig, name: str
) -> RequantPasses:
    passes, values = [], {}
    for number, step in enumerate(steps):
        if isinstance(step.operand, int):
            passes.append(Pass(step.op, step.operand))
            continue
        each = np.array(step.operand, dtype=np.int32)
        packed = pack_channels(np.broadcast_to(each, (channels,)).copy(), config)
        operand = placeholder(packed.shape, INT32, f"{name}_{number}")
        values[operand.name] = packed
        passes.append(Pass(step.op, operand))
    return RequantPasses(tuple(passes), values)
