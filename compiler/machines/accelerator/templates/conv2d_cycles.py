"""Cycle estimates for the choices of a convolution's base space."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from tandem.compiler.machines.accelerator.templates.conv2d_tiled import ORDERS
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.tile_pipeline import simulated
from tandem.compiler.machines.accelerator.templates.tile_stages import (
    AXES,
    StageCosts,
    TileCosts,
    ends,
)
from tandem.compiler.machines.accelerator.templates.tiling import resident_operands
from tandem.compiler.machines.accelerator.templates.work_counts import loads_of_box
from tandem.compiler.plan.space import Bools, Choices, Floats, Ints
from tandem.hw.topology import MemoryId

LONGEST = 1500
"""Maximum number of simulated steps; a longer program is extrapolated at the same rate."""


@dataclass(frozen=True, slots=True)
class Conv2dCycles:
    """Approximate cycles of choices, from launch to done."""

    workload: Conv2dWorkload
    choices: Choices
    cost: MachineCost

    def quick_estimate(self) -> Floats:
        """Cycles: the maximum of arithmetic and loads, plus the part that cannot overlap.

        During a tile's epilogue only one step of the next tile can be loaded, so that loads stall
        as well.
        """
        extents, epilogue = self.workload.extents, self.workload.epilogue
        oc, y, x, ic = (self.choices[axis] for axis in ("oc", "y", "x", "ic"))
        stays = {each: self.choices.equals("order", each) for each in ORDERS}
        oc_tiles = -(-extents["oc"] // oc)
        parts = -(-extents["y"] // y) * -(-extents["x"] // x)
        elements = self.workload.input_extent(0, y) * self.workload.input_extent(1, x)
        spanned = np.where(stays["image"], self.workload.groups, self.workload.spanned_groups(oc))
        image = extents["ic"] * spanned * self.cost.load(MemoryId.INP, elements)
        steps = -(-extents["ic"] // ic)
        channels = extents["ic"] * self.workload.taps
        weights = steps * self.cost.overhead + self.cost.beats(MemoryId.WGT, oc * channels)
        images = parts * image * np.where(stays["image"], 1, oc_tiles)
        loads = images + weights * oc_tiles * np.where(stays["weights"], 1, parts)
        tiles, size = oc_tiles * parts, oc * y * x
        passes = (
            epilogue.tensor_passes + epilogue.immediate_passes + epilogue.input_operands
        ) * size
        passes = passes + size * (not self.cost.overwrites)
        passes = passes + epilogue.element_operands * self.cost.load(MemoryId.ACC_8BIT, size)
        passes = passes + self._channel_operands(oc)
        loads = loads + tiles * self._operands(oc, size)
        work = prod(extents[axis] for axis in ("oc", "y", "x")) * channels + tiles * passes
        stalls = tiles * np.maximum(0, passes - loads / (tiles * steps))
        # Loads before the first product.
        first = (image + weights) / np.where(stays["outputs"], steps, 1)
        total: Floats = self.workload.data[0] * np.maximum(loads + stalls, work) + first + passes
        return np.where(self._kernels_stay, total, np.inf)

    @property
    def _kernels_stay(self) -> Bools:
        """Whether the micro-ops of all threads stay on chip."""
        kernel = self.workload.kernel_length(self.choices)
        return self.choices["threads"] * (kernel + 4) <= self.cost.config.depth(MemoryId.UOP)

    def simulated(self) -> Floats:
        """Cycles by simulation of the tiles on the decoupled units; infinite if micro-ops do not
        stay on chip, which is not modelled."""
        overhead = self.cost.overhead
        # Single cycles, and the order of a stage's instructions, are neglected.
        stages = StageCosts(
            load=overhead,
            store=self.cost.store_gap,
            behind_products=0,
            behind_results=0,
            acknowledged=overhead,
            last=overhead,
            fine=0,
            longest=LONGEST,
        )
        costs = self.workload, self.choices, self.cost, stages, self._tiles()
        return np.where(self._kernels_stay, simulated(*costs), np.inf)

    def _tiles(self) -> TileCosts:
        """Durations of a tile's passes and of the loads of their operands."""
        epilogue, channels = self.workload.epilogue, self.workload.extents["oc"]
        oc, y, x = ends(self.workload, self.choices)
        size = oc * y * x
        passes = epilogue.tensor_passes * self.cost.alu(size, tensor_operand=True)
        passes = passes + (epilogue.immediate_passes + epilogue.input_operands) * size
        passes = passes + epilogue.element_operands * self.cost.load(MemoryId.ACC_8BIT, size)
        begin = self.cost.load(MemoryId.UOP, 128 * self.choices["threads"])
        operands = np.full(len(self.choices), channels)
        loaded = len(epilogue.channel_operands) * self.cost.load(MemoryId.ACC, operands)
        begin = begin + np.where(resident_operands(self.choices), loaded, 0)
        parameters = np.zeros_like(begin)
        if epilogue.requantise is not None and epilogue.requantise.resident:
            parameters = self.cost.load(MemoryId.PAR, operands)
        return TileCosts(
            begin=(begin, begin // 4 + parameters),
            operands=self._operands(oc, size, self._residual_loads(oc, y, x)),
            passes=passes + self._channel_operands(oc),
        )

    def _channel_operands(self, oc: Ints) -> Ints:
        """Cycles in which compute loads the operands of a tile's channels that do not stay."""
        operands = len(self.workload.epilogue.channel_operands)
        if not operands or resident_operands(self.choices).all():
            return np.zeros_like(oc)
        return operands * self.cost.load(MemoryId.ACC, oc)

    def _residual_loads(self, oc: Ints, y: Ints, x: Ints) -> Ints:
        """LOADs of a tile's residual."""
        workload, extents = self.workload, self.workload.extents
        whole = workload.in_dram(workload.data[0], *(extents[axis] for axis in AXES))
        return loads_of_box(workload.in_dram(np.ones_like(oc), oc, y, x), whole)

    def _operands(self, oc: Ints, size: Ints, loads: Ints | int = 1) -> Ints:
        """Cycles in which the load unit loads the operands of a tile's requantisation: a residual,
        in a number of LOADs, and parameters that do not stay."""
        epilogue, again = self.workload.epilogue, (loads - 1) * self.cost.overhead
        found = epilogue.input_operands * (self.cost.load(MemoryId.INP, size) + again)
        if epilogue.requantise is not None and not epilogue.requantise.resident:
            found = found + self.cost.load(MemoryId.PAR, oc)
        return found
