"""The time of Winograd's algorithm on a CPU, estimated from a convolution's sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.register_tiles import StepCosts, TileSpace
from tandem.compiler.machines.cpu.templates.winograd_transforms import KERNEL, TRANSFORMS
from tandem.compiler.plan.space import Bools, Choices, Floats

_FIRST_LEVEL, _SECOND_LEVEL = 24 << 10, 1 << 20
"""Bytes that stay in a cache while others pass through it."""
_NEAR, _FAR = 32.0, 16.0
"""Bytes a cycle, in long runs, from the second-level cache and from behind it."""
_STEP_BYTES = 12.0
"""Bytes a cycle of weights that a step of a register tile waits for."""
_BYTES = FLOAT32.bits // 8
_PER_INPUT, _PER_OUTPUT = 5.0, 6.0
"""Cycles of the transforms for a vector of a tile's elements."""


@dataclass(frozen=True, slots=True)
class WinogradSizes:
    """The sizes of a convolution of 3 x 3 in float32, and the machine."""

    batch: int
    inputs: int
    channels: int
    rows: int
    columns: int
    simd: Simd
    threads: int

    def tiles(self, outputs: int) -> TileSpace:
        """The register tiles in a grid of tiles of `outputs` x `outputs` pixels."""
        extents = self.channels, -(-self.rows // outputs), -(-self.columns // outputs)
        return TileSpace.of(extents, FLOAT32, self.simd)

    def fits(self, choices: Choices) -> Bools:
        """Whether register tiles fit, divide the channels, and are not larger than the grid."""
        found = self.channels % choices["channels"] == 0
        for outputs in TRANSFORMS:
            space = self.tiles(outputs)
            inside = (choices["rows"] <= space.rows) & (choices["columns"] <= space.columns)
            found &= (choices["outputs"] != outputs) | (inside & space.fits(choices))
        return found

    def cycles(self, choices: Choices) -> Floats:
        """Estimated cycles of each choice, with all threads."""
        m, lanes = choices["outputs"], self.simd.lanes(FLOAT32)
        points = (m + KERNEL - 1) ** 2
        vectors, step_rows, step_columns = (
            choices["channels"] // lanes,
            choices["rows"],
            choices["columns"],
        )
        passes = _ceil_div(_ceil_div(self.rows, m), step_rows)
        across = _ceil_div(_ceil_div(self.columns, m), step_columns)
        down_tiles, across_tiles = passes * step_rows, across * step_columns
        blocks = self.channels // choices["channels"]
        step = StepCosts.of(self.simd, None).time(vectors, step_rows * step_columns) / 2
        line = vectors * self.simd.bytes
        step = np.where(
            self.inputs * line > _FIRST_LEVEL, np.maximum(step, line / _STEP_BYTES), step
        )
        product = points * self.inputs * blocks * passes * across * step
        size = points * self.inputs * self.channels * _BYTES
        weights = passes * size / np.where(size <= _SECOND_LEVEL, _NEAR, _FAR)
        # Transformed data and products of a row of tiles are written and read.
        between = points * (self.inputs + self.channels) * step_rows * across_tiles * _BYTES
        moved = np.where(between <= _SECOND_LEVEL, 0, 2 * passes * between / _FAR)
        data = self.inputs * down_tiles * -(-across_tiles // lanes) * points * _PER_INPUT
        output = self.channels // lanes * down_tiles * across_tiles * (points + m**2) * _PER_OUTPUT
        rows = self.batch * passes
        # A single row of register tiles is shared by blocks of channels.
        tasks = np.where(rows == 1, self.channels // lanes, rows)
        idle = -(-tasks // self.threads) * self.threads / tasks
        found: Floats = (
            (self.batch * (product + data + output + moved) + weights) * idle / self.threads
        )
        return found

    def direct_cycles(self) -> float:
        """Estimated cycles of the direct convolution with its best tile."""
        extents = self.channels, self.rows, self.columns
        space = TileSpace.of(extents, FLOAT32, self.simd)
        choices = space.knobs.choices()
        fitting = choices.where(space.fits(choices))
        product = float(space.steps(fitting).min()) / 2 * self.inputs * KERNEL**2
        size = KERNEL**2 * self.inputs * self.channels * _BYTES
        return (self.batch * product + size / _FAR) / self.threads


def _ceil_div(number: Any, by: Any) -> Any:
    return -(-number // by)
