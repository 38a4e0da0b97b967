"""Cycle estimates for the choices of a convolution's base space."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from compiler.machines.accelerator.templates.conv2d_tiled import ORDERS
from compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from compiler.machines.accelerator.templates.machine_cost import MachineCost
from compiler.machines.accelerator.templates.tile_pipeline import TilePipeline, ends
from compiler.machines.accelerator.templates.tiling import resident_operands
from compiler.plan.space import Bools, Choices, Floats, Ints
from hw.topology import MemoryId


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
        stay: Bools = self.choices["threads"] * (kernel + 4) <= self.cost.config.depth(MemoryId.UOP)
        return stay

    def simulated(self) -> Floats:
        """Cycles by simulation of the tiles on the decoupled units; infinite if micro-ops do not
        stay on chip, which is not modelled."""
        cycles = self._pipeline().cycles()
        return np.where(self._kernels_stay, cycles, np.inf)

    def _pipeline(self) -> TilePipeline:
        """The simulated pipeline: durations of each tile's loads, products, passes and stores."""
        extents, epilogue = self.workload.extents, self.workload.epilogue
        stays = {each: self.choices.equals("order", each) for each in ORDERS}
        whole = np.array([extents[axis] for axis in ("oc", "y", "x")])
        sizes = np.stack([self.choices[axis] for axis in ("oc", "y", "x")], axis=1)
        steps = -(-extents["ic"] // self.choices["ic"])
        last = extents["ic"] - (steps - 1) * self.choices["ic"]
        # Dimensions: choice; remainder or whole tile of each axis; last or other step of the sum.
        oc, y, x = (each[..., None] for each in ends(whole, sizes))
        depth = np.stack([last, self.choices["ic"]], axis=1)[:, None, None, None, :]
        weights, image = (stays[each].reshape(-1, 1, 1, 1, 1) for each in ("weights", "image"))
        channels = extents["ic"]
        kept = np.where(weights, self._weights(oc, channels), 0)
        whole_depth = channels * self.workload.groups
        kept = kept + np.where(image, self._image(y, x, whole_depth), 0)
        spanned = depth * self.workload.spanned_groups(oc)
        loads = np.where(image, 0, self._image(y, x, spanned))
        loads = loads + np.where(weights, 0, self._weights(oc, depth))
        size = oc * y * x
        passes = epilogue.tensor_passes * self.cost.alu(size, tensor_operand=True)
        passes = passes + (epilogue.immediate_passes + epilogue.input_operands) * size
        passes = passes + epilogue.element_operands * self.cost.load(MemoryId.ACC_8BIT, size)
        passes = passes + self._channel_operands(oc)
        begin = self.cost.load(MemoryId.UOP, 128 * self.choices["threads"])
        operands = np.full(len(self.choices), extents["oc"])
        resident = resident_operands(self.choices)
        loaded = len(epilogue.channel_operands) * self.cost.load(MemoryId.ACC, operands)
        begin = begin + np.where(resident, loaded, 0)
        parameters = np.zeros_like(begin)
        if epilogue.requantise is not None and epilogue.requantise.resident:
            parameters = self.cost.load(MemoryId.PAR, operands)
        return TilePipeline(
            batches=self.workload.data[0],
            extents=np.broadcast_to(whole, sizes.shape),
            sizes=sizes,
            loops=np.where(stays["image"][:, None], (1, 2, 0), (0, 1, 2)),
            along=self.choices.equals("along", "y") + 2 * self.choices.equals("along", "x"),
            kept_loops=stays["weights"] + 2 * stays["image"],
            threads=self.choices["threads"],
            steps=steps,
            kept=kept[..., 0],
            loads=loads,
            products=size * depth * self.workload.taps,
            passes=passes[..., 0],
            operands=self._operands(oc, size)[..., 0],
            stores=(oc * (self.cost.store_gap + self.cost.beats(MemoryId.OUT, y * x)))[..., 0],
            begin=(begin, begin // 4 + parameters),
            overhead=self.cost.overhead,
            resets=not self.cost.overwrites,
            early=epilogue.requantise is not None,
        )

    def _channel_operands(self, oc: Ints) -> Ints:
        """Cycles in which compute loads the operands of a tile's channels that do not stay."""
        operands = len(self.workload.epilogue.channel_operands)
        if not operands or resident_operands(self.choices).all():
            return np.zeros_like(oc)
        return operands * self.cost.load(MemoryId.ACC, oc)

    def _operands(self, oc: Ints, size: Ints) -> Ints:
        """Cycles in which the load unit loads the operands of a tile's requantisation: a residual,
        and parameters that do not stay."""
        epilogue = self.workload.epilogue
        found = epilogue.input_operands * self.cost.load(MemoryId.INP, size)
        if epilogue.requantise is not None and not epilogue.requantise.resident:
            found = found + self.cost.load(MemoryId.PAR, oc)
        return found

    def _weights(self, oc: Ints, ic: Ints | int) -> Ints:
        """Cycles to load the weights of `oc` by `ic` blocks, in one LOAD."""
        return self.cost.load(MemoryId.WGT, oc * ic * self.workload.taps)

    def _image(self, y: Ints, x: Ints, blocks: Ints | int) -> Ints:
        """Cycles to load a tile's part of the image: a LOAD for each block of channels, padding
        included."""
        rows, columns = self.workload.loaded_extents(y, x)
        height, width = self.workload.data[2:4]
        elements = np.minimum(rows, height) * np.minimum(columns, width)
        padding = np.maximum(0, rows * columns - elements)
        return blocks * self.cost.load(MemoryId.INP, elements, padding)
