"""What passes over a chain of steps compute, by the machine's own words."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainPass,
    ChainStep,
    Residual,
    ResidualSum,
    Values,
    cover,
)
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.operations import AluOp


def passed(x: int, k: int, channel: int, passes: tuple[ChainPass, ...]) -> int:
    """What passes make of an accumulator and a residual, by the machine's own words."""
    for one in passes:
        match one.second:
            case Residual() | ResidualSum():
                second = passed(k, 0, channel, one.ahead)
            case Values(numbers=numbers):
                second = numbers[channel % len(numbers)]
            case None:
                second = 0
        if isinstance(one.op, AluOp):
            x = one.op.apply(x, second)
        else:
            x = one.op.apply(x, second, one.parameters or 0)
    return x


def covered(
    steps: Sequence[ChainStep], operations: Sequence[CustomOperation]
) -> tuple[ChainPass, ...]:
    """The passes of steps that can be covered."""
    found = cover(steps, operations)
    assert found is not None
    return found
