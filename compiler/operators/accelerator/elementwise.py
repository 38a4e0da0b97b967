"""Element by element on the ALU: passes over packed data, and sums of two tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8, INT32
from compiler.operators.accelerator.epilogue import (
    DATA_AXES,
    Pass,
    Step,
    epilogue,
    in_accumulators,
    operands_of,
)
from compiler.operators.accelerator.passes_schedule import place_passes, tensorize_passes
from compiler.operators.accelerator.tiles import Tile, choose_tile, cut
from compiler.operators.checks import refuse, show
from compiler.target import AcceleratorTarget
from compiler.te import Schedule, Tensor
from hw.config import HardwareConfig
from hw.encoding import AluOp

__all__ = [
    "PackedElementwise",
    "elementwise_schedule",
    "elementwise_tile",
    "packed_add",
    "packed_elementwise",
]


@dataclass(frozen=True, slots=True)
class PackedElementwise:
    """Passes over packed data.

    Attributes
    ----------
    data
        int8 or int32 [N, C, H, W, B, L].
    loaded
        int32 of the same shape.
    passes
        What follows, with the names of the stages that do it.
    output
        int8 of the same shape.
    """

    data: Tensor
    loaded: Tensor
    passes: tuple[Step, ...]
    output: Tensor


def packed_elementwise(
    data: Tensor, passes: Sequence[Pass], *, name: str = "elementwise"
) -> PackedElementwise:
    """Passes of the ALU over int8 or int32, to packed int8.

    Stages: `{name}_data`, those of `epilogue`, `name`.

    Parameters
    ----------
    data
        [N, C, H, W, B, L], in blocks of output channels.

    Raises
    ------
    TensorError
        Data of another rank or type; operands that do not fit it.
    """
    if len(data.shape) != 6 or data.dtype not in (INT8, INT32):
        refuse(
            "elementwise", name, f"{show(data)} has to be packed, int8 or int32[N, C, H, W, B, L]"
        )
    loaded = in_accumulators(data, f"{name}_data", DATA_AXES)
    output, steps = epilogue(loaded, passes, name)
    return PackedElementwise(data, loaded, steps, output)


def packed_add(
    left: Tensor,
    right: Tensor,
    passes: Sequence[Pass],
    *,
    left_passes: Sequence[Pass] = (),
    right_passes: Sequence[Pass] = (),
    name: str = "add",
) -> PackedElementwise:
    """The sum of two tensors, after passes on each of them, and passes on the sum.

    Say, a MUL on either side where scales differ. Shapes, types, stages and errors are those of
    `packed_elementwise`.
    """
    both = Pass(AluOp.ADD, right, tuple(right_passes))
    return packed_elementwise(left, (*left_passes, both, *passes), name=name)


def elementwise_tile(
    elementwise: PackedElementwise, config: HardwareConfig, threads: int = 2
) -> Tile:
    """The fewest tiles that fit. Raises `CapacityError` where one element does not."""
    return choose_tile(
        f"{elementwise.output.name} over {show(elementwise.data)}",
        elementwise.output,
        elementwise.passes,
        config,
        threads,
        loaded=lambda y, x: y * x,
        kept=0,
    )


def elementwise_schedule(
    elementwise: PackedElementwise, tile: Tile, target: AcceleratorTarget
) -> Schedule:
    """Tile by tile: load, pass after pass, store."""
    output, loaded = elementwise.output, elementwise.loaded.name
    inputs = (elementwise.data, *operands_of(each for _, each in elementwise.passes))
    schedule = cut(Schedule.of(output, inputs=inputs), output, tile)
    schedule = place_passes(schedule, elementwise.passes, output, resident=tile.resident)
    schedule = schedule.set_scope(loaded, Scope.ACC).compute_at(loaded, output.name, "thread")
    return tensorize_passes(schedule, elementwise.passes, target)
