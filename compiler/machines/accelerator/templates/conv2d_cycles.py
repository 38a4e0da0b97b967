"""The workload of a convolution, and cycle estimates for its choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np

from compiler.ir.dtypes import INT8
from compiler.machines.accelerator.templates.epilogue import Epilogue, Pass
from compiler.machines.accelerator.templates.machine_cost import MachineCost
from compiler.machines.accelerator.templates.tile_pipeline import TilePipeline, ends
from compiler.machines.accelerator.templates.tiling import resident_operands
from compiler.machines.accelerator.templates.work_counts import kernel_length
from compiler.operators.window import Window, windows
from compiler.plan.space import Bools, Choices, Floats, Ints
from compiler.te import placeholder
from hw.topology import MemoryId

ORDERS: Mapping[str, tuple[str, ...]] = {
    "outputs": ("oc", "y", "x"),
    "weights": ("oc", "y", "x"),
    "image": ("y", "x", "oc"),
}
"""The loops over tiles, by the operand that stays on chip. `outputs`: each tile loads its weights
and its part of the image, step by step; `weights`: the weights of a tile of output channels stay
for all parts of the image; `image`: a part of the image stays for all tiles of output channels."""

Count = TypeVar("Count", int, Ints)


@dataclass(frozen=True, slots=True)
class Conv2dWorkload:
    """A convolution of packed int8 tensors to packed int8.

    Attributes
    ----------
    data, weight
        Shapes: [N, groups * IC, H, W, B, K] and [OC, IC, KH, KW, L, K].
    padding
        Zeros at top, left, bottom and right.
    groups
        Number of groups, of whole blocks: an output block reads its group's IC blocks.
    """

    data: tuple[int, ...]
    weight: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    passes: tuple[Pass, ...]

    @property
    def epilogue(self) -> Epilogue:
        """The passes over the sums as an epilogue."""
        return Epilogue(self.passes)

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows along y and x."""
        image = placeholder(self.data[:4], INT8, "data")
        kernel = self.weight[2:4]
        return windows("conv2d", "out", image, kernel, self.strides, self.padding, self.dilation)

    @property
    def extents(self) -> dict[str, int]:
        """Extents of output blocks, rows and columns, and of summed input blocks."""
        y, x = (each.count for each in self.windows)
        return {"oc": self.weight[0], "y": y, "x": x, "ic": self.weight[1]}

    @property
    def padded(self) -> tuple[int, int]:
        """Rows and columns of the image with its padding."""
        top, left, bottom, right = self.padding
        return top + self.data[2] + bottom, left + self.data[3] + right

    @property
    def taps(self) -> int:
        """Number of taps of the kernel."""
        return prod(self.weight[2:4])

    @property
    def blocks_per_group(self) -> int:
        """Number of output blocks of a group."""
        return self.weight[0] // self.groups

    def spanned_groups(self, oc: Ints) -> Ints:
        """The most groups that a tile of `oc` output blocks reads."""
        if self.groups == 1:
            return np.ones_like(oc)
        own = self.blocks_per_group
        first = np.where(oc < self.weight[0], own - np.gcd(own, oc), 0)
        return (first + oc - 1) // own + 1

    def input_extent(self, axis: int, count: Count) -> Count:
        """Rows (axis 0) or columns (axis 1) of the padded image that `count` output rows read."""
        reach = self.dilation[axis] * (self.weight[2 + axis] - 1) + 1
        return (count - 1) * self.strides[axis] + reach

    def loaded_extents(self, y: Ints, x: Ints) -> tuple[Ints, Ints]:
        """Rows and columns of the padded image to load for `y` rows and `x` columns of the output;
        1x1 kernels skip the rows between strides."""
        rows, columns = self.input_extent(0, y), self.input_extent(1, x)
        return (y if self.taps == 1 else rows), columns

    def kernel_length(self, choices: Choices) -> Ints:
        """Micro-ops of a GEMM instruction (not of a reset)."""
        axes = [choices[axis] for axis in ("oc", "y", "x", "ic")]
        return kernel_length(*axes, *self.weight[2:4])


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
