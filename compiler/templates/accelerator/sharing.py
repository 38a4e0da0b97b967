"""How virtual threads share tiles, and which operands stay on chip, where bytes decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.te.knobs import Setting, knob
from compiler.te.schedule import Sketch
from compiler.templates.accelerator.epilogue import Epilogue
from compiler.templates.space import Bools, Choices, Ints
from hw.config import HardwareConfig
from hw.topology import MemoryId

__all__ = ["operand_accumulators", "residency", "shared", "stays", "tiled", "unusual"]


def tiled(axes: Sequence[str], along: Sequence[str], order: Any) -> Sketch:
    """The output's loops over tiles, which threads share; the knobs are tiles' sizes by `axes`, the
    number of threads, and the axis whose tiles they share.

    Parameters
    ----------
    along
        What the last one may be set to.
    order
        Of the loops: `x_o` is over the tiles of an axis x, `x_i` within one, `thread` over threads.
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


def shared(choices: Choices, extents: Mapping[str, int]) -> tuple[Bools | Ints, ...]:
    """What makes one way of sharing better than another: no thread without a tile, more threads,
    and of the axes that have a tile for each the first.

    Parameters
    ----------
    extents
        Of the axes that threads may share, in the order of preference.
    """
    threads = choices["threads"]
    idle = np.zeros(len(choices), np.bool_)
    place = np.zeros(len(choices), np.int64)
    for number, (axis, extent) in enumerate(extents.items()):
        along = choices.are("along", axis)
        idle |= along & (-(-extent // choices[axis]) < threads)
        place += number * along
    return idle, -threads, place


def residency(epilogue: Epilogue) -> dict[str, tuple[Setting, ...]]:
    """The knob that says whether operands for each channel stay, where there are any."""
    return {"resident": (1, 0)} if epilogue.channel_operands else {}


def unusual(choices: Choices, epilogue: Epilogue, channels: int, config: HardwareConfig) -> Bools:
    """Where operands for each channel stay though they take more than a quarter of ACC, or do not
    stay though they take less."""
    operands = len(epilogue.channel_operands)
    if not operands:
        return np.zeros(len(choices), np.bool_)
    usual = 4 * operands * channels <= config.depth(MemoryId.ACC)
    found: Bools = choices["resident"] != int(usual)
    return found


def stays(choices: Choices) -> Bools:
    """Where operands for each channel stay: everywhere, if there is no such knob."""
    found: Bools = (
        choices["resident"] == 1 if "resident" in choices.columns else choices["threads"] > 0
    )
    return found


def operand_accumulators(choices: Choices, epilogue: Epilogue, channels: int) -> Ints:
    """Accumulators that operands for each channel take: all, or those of the threads' tiles."""
    of_tiles = choices["threads"] * choices["oc"]
    operands = len(epilogue.channel_operands)
    if not operands:
        return 0 * of_tiles
    return operands * np.where(stays(choices), channels, of_tiles)
