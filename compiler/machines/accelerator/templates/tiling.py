"""Steps that templates share, knobs of tiling, thread sharing and operand residency, and ranking
keys for choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.intrinsics.base import fill
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue
from tandem.compiler.plan.space import Bools, Choices, Ints, Space, tile_sizes
from tandem.compiler.te.knobs import knob
from tandem.compiler.te.schedule import Sketch
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId


def tile_output(axes: Sequence[str], along: Sequence[str], order: Any) -> Sketch:
    """Splits the output's loops into tiles that threads share. The knobs are a tile's size along
    each of `axes`, `threads`, and `along`: the axis whose tiles the threads share.

    Parameters
    ----------
    along
        Settings of the knob `along`.
    order
        The loops: `x_o` is over the tiles of an axis x, `x_i` within a tile, `thread` over threads.
    """
    steps = Sketch()
    for axis in axes:
        steps = steps.split("out", axis, knob(axis), (f"{axis}_o", f"{axis}_i"))
    outer = knob("along", {axis: f"{axis}_o" for axis in along})
    names = knob("along", {axis: (f"{axis}_o", "thread") for axis in along})
    return (
        steps.split("out", outer, knob("threads"), names)
        .reorder("out", *order)
        .virtual_thread("out", "thread")
    )


def tensorize_reduction(
    steps: Sketch, stage: str, accumulate: PrimFunc, config: HardwareConfig, initial: int = 0
) -> Sketch:
    """Tensorizes a reduction with its initialiser at the loop `b`; call last, as loops are then
    fixed.

    Parameters
    ----------
    accumulate
        The instruction that adds a term to blocks of accumulators.
    initial
        The value to which accumulators are filled before the first term.
    """
    return steps.tensorize(stage, "b", accumulate, fill(config, initial).function)


def sharing_rank(choices: Choices, extents: Mapping[str, int]) -> tuple[Bools | Ints, ...]:
    """Keys for `rank_by`: first choices without idle threads, then more threads, then the preferred
    axis.

    Parameters
    ----------
    extents
        Extents of the axes that threads may share, in the order of preference.
    """
    threads = choices["threads"]
    idle = np.zeros(len(choices), np.bool_)
    preference = np.zeros(len(choices), np.int64)
    for number, (axis, extent) in enumerate(extents.items()):
        along = choices.equals("along", axis)
        idle |= along & (-(-extent // choices[axis]) < threads)
        preference += number * along
    return idle, -threads, preference


def tile_space(along: tuple[str, ...], extents: Mapping[str, int], epilogue: Epilogue) -> Space:
    """The knobs of `tile_output` for axes of these extents; and, if there are per-channel operands,
    the knob `resident`: 1 if per-channel operands stay on chip."""
    sizes = {axis: tile_sizes(extent) for axis, extent in extents.items()}
    resident = {"resident": (1, 0)} if epilogue.channel_operands else {}
    return Space({"threads": (2, 1), "along": along, **sizes, **resident})


def unusual_residency(
    choices: Choices, epilogue: Epilogue, channels: int, config: HardwareConfig
) -> Bools:
    """Whether per-channel operands stay on chip but take more than a quarter of ACC, or do not stay
    but take at most a quarter."""
    operands = len(epilogue.channel_operands)
    if not operands:
        return np.zeros(len(choices), np.bool_)
    usual = 4 * operands * channels <= config.depth(MemoryId.ACC)
    return choices["resident"] != int(usual)


def resident_operands(choices: Choices) -> Bools:
    """Whether per-channel operands stay on chip; True if there is no knob `resident`."""
    if "resident" in choices.columns:
        return choices.equals("resident", 1)
    return np.ones(len(choices), np.bool_)


def parameter_usage(epilogue: Epilogue, channels: int, tiles: Ints) -> dict[MemoryId, Ints]:
    """Elements of PAR that the epilogue's parameters take, if it has any.

    Parameters
    ----------
    channels
        Blocks of channels of the output.
    tiles
        Blocks of channels in the tiles of all threads.
    """
    if epilogue.requantise is None:
        return {}
    return {MemoryId.PAR: epilogue.parameter_elements(channels, tiles)}


def operand_accumulators(choices: Choices, epilogue: Epilogue, channels: int) -> Ints:
    """Accumulators that per-channel operands take: for all channels if the operands stay on chip,
    else for the threads' tiles."""
    of_tiles = choices["threads"] * choices["oc"]
    resident = resident_operands(choices)
    return len(epilogue.channel_operands) * np.where(resident, channels, of_tiles)
