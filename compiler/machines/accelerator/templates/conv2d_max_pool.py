"""Convolutions with maxima over windows of their results, which never leave the chip.

::

    for n, tiles of oc, y, x of the maxima:
      load weights, once for all y and x, and a part of the image
      multiply: the sums that the tile's windows read, some of them for two tiles
      fill the tile with a number below all sums
      for each tap: maximum, over the outputs whose tap is not padding
      the passes of the epilogue
      store

There is one virtual thread: a part of the image has two slots, so that the next one is loaded in
the meantime.

Requantisation never decreases, so that the maximum of sums requantises to the maximum of
requantised sums: passes are over the maxima alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import ClassVar

import numpy as np

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.graph.operators.reductions import MaxPool
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.accelerator.intrinsics.base import FILL_FACTOR, alu_binary
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.coded_blocks import CodedBlocks
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.conv2d import CONVOLUTION, Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_tiled import (
    image_on_chip,
    loops_of_tiles,
    tensorized,
)
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolWorkload, within
from tandem.compiler.machines.accelerator.templates.packing import useful_weights
from tandem.compiler.machines.accelerator.templates.products import largest_sum
from tandem.compiler.machines.accelerator.templates.requantise_passes import requantise_pattern
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.tiling import (
    operand_accumulators,
    parameter_usage,
    tensorize_reduction,
    tile_output,
)
from tandem.compiler.machines.accelerator.templates.traffic import (
    needed_parts,
    taps_on_data,
)
from tandem.compiler.machines.accelerator.templates.window_packing import window_packings
from tandem.compiler.machines.accelerator.templates.work_counts import (
    Output,
    ReductionWork,
    TransferCounts,
    WorkCounts,
    kernel_length,
    thread_redundancy,
    tile_shapes,
)
from tandem.compiler.operators.blocks import DATA_AXES
from tandem.compiler.plan.pattern import Apply, Match
from tandem.compiler.plan.schedule_template import Arguments, HostPacking, KernelMatch, Shapes
from tandem.compiler.plan.space import Choices, Floats, Ints, Space, tile_sizes
from tandem.compiler.te import Schedule, Tensor, compute, reduce_axis
from tandem.compiler.te.knobs import OpenTrace, knob
from tandem.compiler.te.tensor import Reduction
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId

LOWEST = (-(2**15), -(2**15) * FILL_FACTOR)
"""Initial values of maxima: the first is a number of an instruction, the other a product of two."""
_AXES = ("oc", "y", "x")


@dataclass(frozen=True, slots=True)
class PooledWorkload:
    """A convolution, and maxima over windows of its requantised sums.

    Attributes
    ----------
    pool
        The windows, in the sums; padding is excluded.
    lowest
        A number that no sum is below.
    """

    conv: Conv2dWorkload
    pool: MaxPool
    lowest: int

    @property
    def coding(self) -> object:
        """How the weights lie in DRAM."""
        return self.conv.coding

    @property
    def epilogue(self) -> Epilogue:
        """The passes over the maxima."""
        return self.conv.epilogue

    @property
    def sums(self) -> tuple[int, ...]:
        """The shape of the sums."""
        data, weight, (rows, columns) = self.conv.data, self.conv.weight, self.conv.windows
        return (data[0], weight[0], rows.count, columns.count, data[4], weight[4])

    @property
    def maxima(self) -> MaxPoolWorkload:
        """The maxima alone."""
        return MaxPoolWorkload(self.sums, self.pool)

    @property
    def extents(self) -> dict[str, int]:
        """Blocks of channels, rows and columns of the maxima."""
        return self.maxima.extents


class PooledConv2dOnArray(AcceleratorTemplate[PooledWorkload]):
    """See the module."""

    name = "conv2d_max_pool"
    patterns: ClassVar[tuple[Apply, ...]] = (Apply("max_pool", (requantise_pattern(CONVOLUTION),)),)
    array_operand = "data"
    joins = True
    _convolution: ClassVar[Conv2dOnArray] = Conv2dOnArray()

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[PooledWorkload, Arguments]:
        conv, arguments = self._convolution.bind(found, machine)
        if conv.groups > 1:
            raise Refusal("maxima of sums in groups are computed apart")
        if any((found.match.constant("multiplier").array < 0).flat):
            raise Refusal("a requantisation that decreases is done before maxima")
        largest = largest_sum(found.match.constant("weight"))
        lowest = next((each for each in LOWEST if largest <= -each), None)
        if lowest is None:
            raise Refusal(f"sums of up to {largest:,}: {-LOWEST[1]:,} is allowed before maxima")
        pool = found.match.attributes("max_pool", MaxPool)
        return PooledWorkload(conv, pool, lowest), arguments

    def minimum_traffic(self, workload: PooledWorkload) -> Mapping[str, Fraction]:
        image, taps = needed_parts(workload.conv.windows)
        pooled, _ = needed_parts(workload.maxima.windows)
        return {"data": image * pooled, "weight": taps}

    def macs(self, found: KernelMatch) -> int:
        type_ = found.match.let("conv2d").type
        assert isinstance(type_, TensorType), "kernels know the types of their values"
        images, _, *pixels = type_.static_shape("conv2d")
        return useful_weights(found.match.constant("weight").array) * images * prod(pixels)

    def repacked(
        self, match: Match, shapes: Shapes, machine: AcceleratorTarget
    ) -> tuple[HostPacking, ...]:
        """im2col, as for the convolution alone."""
        return window_packings(match, shapes, machine)

    def stored(
        self, workload: PooledWorkload, machine: AcceleratorTarget
    ) -> dict[str, CodedBlocks]:
        return self._convolution.stored(workload.conv, machine)

    # Tensor expressions ---------------------------------------------------------------------------

    def start(self, workload: PooledWorkload, machine: AcceleratorTarget) -> Schedule:
        """The unscheduled stages: those of the convolution up to `out_sum`, `out_max`, the passes,
        `out`."""
        tensors, sums = self._convolution.sums(workload.conv)
        output, operands = workload.epilogue.compute(_maxima(workload, sums))
        return Schedule.of(output, inputs=(*tensors, *operands))

    def sketch(self, workload: PooledWorkload, machine: AcceleratorTarget) -> OpenTrace:
        config, epilogue = machine.config, workload.epilogue
        steps = tile_output(_AXES, ("oc",), loops_of_tiles(*_AXES))
        steps = steps.set_scope("out_sum", OnChip.ACC).set_scope("out_max", OnChip.ACC)
        steps = epilogue.place(steps).compute_at("out_max", "out", "thread")
        steps = steps.compute_at("out_sum", "out", "thread")
        steps = steps.reorder("out_sum", "n", *_AXES, "ic", "ky", "kx", "b", "bo", "bi")
        steps, image = image_on_chip(steps, workload.conv)
        steps = (
            steps.cache_read("weight", ("out_sum",), OnChip.WGT, "out_weight")
            .compute_at("out_weight", "out", "oc_o")
            .compute_at(image, "out", "thread")
            .multi_buffer(image, knob("image_slots"))
        )
        steps = steps.reorder("out_max", "ky", "kx", "n", *_AXES, "b", "bo")
        if workload.maxima.is_padded:
            steps = steps.skip_terms("out_max")
        maximum = alu_binary(config, AluOp.MAX).function
        steps = tensorize_reduction(steps, "out_max", maximum, config, workload.lowest)
        return tensorized(steps, epilogue, config).trace

    # Choices --------------------------------------------------------------------------------------

    def space(self, workload: PooledWorkload, machine: AcceleratorTarget) -> Space:
        sizes = {axis: tile_sizes(extent) for axis, extent in workload.extents.items()}
        return Space({"threads": (1,), **sizes, "image_slots": (2, 1), "along": ("oc",)})

    def usage(self, workload: PooledWorkload, choices: Choices) -> dict[MemoryId, Ints]:
        tile, conv, epilogue = choices.at_most(workload.extents), workload.conv, workload.epilogue
        threads, oc, y, x = (tile[axis] for axis in ("threads", *_AXES))
        rows, columns = workload.maxima.input_tile(y, x)
        image = np.minimum(conv.input_extent(0, rows), conv.padded[0])
        image = image * np.minimum(conv.input_extent(1, columns), conv.padded[1])
        outputs, inputs = conv.weight[:2]
        return {
            MemoryId.ACC: threads * oc * (rows * columns + y * x)
            + operand_accumulators(tile, epilogue, outputs),
            MemoryId.INP: threads * tile["image_slots"] * image * inputs,
            MemoryId.WGT: np.minimum(threads * oc, outputs) * inputs * conv.taps,
            **parameter_usage(epilogue, outputs, threads * oc),
        }

    def shortlist(self, workload: PooledWorkload, choices: Choices, cost: MachineCost) -> Choices:
        return choices

    def counts_are_exact(self, workload: PooledWorkload) -> bool:
        return False  # Of the image more may be loaded where windows see padding.

    def work_counts(self, workload: PooledWorkload, choices: Choices) -> WorkCounts:
        conv, extents = workload.conv, workload.extents
        oc, y, x = (choices[axis] for axis in _AXES)
        images, (outputs, inputs) = conv.data[0], conv.weight[:2]
        sums = images * outputs * workload.maxima.loaded_elements(y, x)
        maxima = images * prod(extents.values())
        inside = prod(int(taps_on_data(window)[1].sum()) for window in workload.maxima.windows)
        fills = maxima * (1 if workload.lowest == LOWEST[0] else 2)
        work = ReductionWork(
            steps=1,
            products=sums * inputs * conv.taps,
            resets=sums + maxima,
            fills=fills,
            tensor=images * outputs * inside,
        )
        rows, columns = workload.maxima.input_tile(y, x)
        kernel = np.maximum(
            kernel_length(oc, rows, columns, np.full_like(oc, inputs), *conv.weight[2:4]),
            kernel_length(oc, y, x),
        )
        counts = WorkCounts.of(
            Output((images, *extents.values()), (np.ones_like(oc), oc, y, x)),
            workload.epilogue,
            np.ones(len(choices), np.bool_),
            self._loads(workload, choices),
            (redundancy := thread_redundancy(choices, extents)),
            kernel,
            work,
        )
        # Sums and maxima are reset by instructions of their own.
        return replace(counts, gemms=counts.gemms + counts.tiles * redundancy)

    def _loads(self, workload: PooledWorkload, choices: Choices) -> list[TransferCounts]:
        """The LOADs of weights and of the image."""
        conv, extents = workload.conv, workload.extents
        oc, y, x = (choices[axis] for axis in _AXES)
        boxes = (
            (count, (conv.weight[1], *_clipped(workload, rows, columns)))
            for count, (rows, columns) in tile_shapes((extents["y"], extents["x"]), (y, x))
        )
        weights = conv.weight_loads(oc, np.full_like(oc, conv.weight[1]), conv.taps)
        pixels = prod(_loaded(workload, axis, size) for axis, size in enumerate((y, x)))
        image = replace(
            conv.image_loads(boxes), elements=np.asarray(conv.weight[1] * pixels, np.float64)
        )
        # A part of the image is loaded again unless a slot still has it.
        threads, parts = choices["threads"], -(-extents["y"] // y) * -(-extents["x"] // x)
        slots = choices["image_slots"]
        tiles = -(-extents["oc"] // oc)
        channels = -(-tiles // threads)
        channels = np.where(slots % parts == 0, np.minimum(slots // parts, channels), channels)
        times = threads * channels * conv.data[0]
        # With slots, weights of all channels stay for the next image, too.
        stay = (slots > 1) & (tiles <= threads)
        return [weights.times(np.where(stay, 1, conv.data[0])), image.times(times)]

    # Costs ----------------------------------------------------------------------------------------

    def estimate(self, workload: PooledWorkload, choices: Choices, cost: MachineCost) -> Floats:
        """Estimated cycles: of compute or the bus, whichever is longer, and of what comes before
        the first products and after the last. With one slot of the image that is not loaded in the
        meantime."""
        work = self.work_counts(workload, choices)
        loads, stores = np.zeros(len(choices)), np.zeros(len(choices))
        weights, *others = work.copies
        for copies in others:
            if copies.memory is MemoryId.OUT:
                stores = stores + _cycles(copies, cost)
            else:
                loads = loads + _cycles(copies, cost)
        array = work.products + work.resets * (not cost.overwrites)
        alu = work.immediate + work.inputs + cost.alu(work.tensor, tensor_operand=True)
        together = np.maximum(np.maximum(array + alu, loads), stores)
        one_by_one = np.maximum(array + np.maximum(alu, loads), stores)
        found: Floats = np.where(choices["image_slots"] > 1, together, one_by_one)
        return found + _cycles(weights, cost) + (loads + stores) / work.tiles


def _cycles(copies: TransferCounts, cost: MachineCost) -> Floats:
    """Cycles of transfers that follow each other."""
    beats = copies.elements * cost.element_bytes(copies.memory) / cost.config.bus_bytes
    data = np.maximum(beats * cost.memory.interval, copies.elements)
    found: Floats = data + copies.instructions * cost.overhead
    return found


def _maxima(workload: PooledWorkload, sums: Tensor) -> Tensor:
    """The maxima over windows of sums."""
    rows, columns = workload.maxima.windows
    ky, kx = reduce_axis(rows.kernel, "ky"), reduce_axis(columns.kernel, "kx")

    def element(n: Expr, oc: Expr, y: Expr, x: Expr, b: Expr, bo: Expr) -> Reduction:
        row, column = rows.place(y, ky), columns.place(x, kx)
        pixel: Expr = sums[n, oc, row - rows.before, column - columns.before, b, bo]
        valid = [*within(rows, row), *within(columns, column)]
        if valid:
            pixel = te.select(te.all_of(*valid), pixel, te.const(workload.lowest, INT32))
        return te.max(pixel, (ky, kx), start=workload.lowest)

    shape = (*sums.shape[:2], rows.count, columns.count, *sums.shape[4:])
    return compute(shape, element, "out_max", DATA_AXES)


def _loaded(workload: PooledWorkload, axis: int, sizes: Ints) -> Ints:
    """Elements of the image along an axis that all tiles of `sizes` maxima load together: what the
    sums read that a tile computes."""
    outer, inner = workload.maxima.windows[axis], workload.conv.windows[axis]
    known, places = np.unique(sizes, return_inverse=True)
    reach = (outer.kernel - 1) * outer.dilation + 1
    totals = []
    for size in known:
        first = np.arange(0, outer.count, size)
        low = first * outer.stride - outer.before
        high = np.minimum(low + (size - 1) * outer.stride + reach, outer.extent)
        # Tiles that may span the whole axis compute the whole axis.
        whole = (size - 1) * outer.stride + reach >= outer.extent
        low = np.zeros_like(low) if whole else np.maximum(low, 0)
        high = np.full_like(high, outer.extent) if whole else high
        begin = np.maximum(low * inner.stride - inner.before, 0)
        end = (high - 1) * inner.stride - inner.before + workload.conv.input_extent(axis, 1)
        totals.append(int(np.maximum(0, np.minimum(end, inner.extent) - begin).sum()))
    return np.array(totals, np.int64)[places]


def _clipped(workload: PooledWorkload, y: Ints, x: Ints) -> tuple[Ints, Ints]:
    """The most rows and columns of the image that a tile of maxima loads."""
    conv = workload.conv
    rows, columns = workload.maxima.input_tile(y, x)
    return (
        np.where(rows > 0, np.minimum(conv.input_extent(0, rows), conv.data[2]), 0),
        np.where(columns > 0, np.minimum(conv.input_extent(1, columns), conv.data[3]), 0),
    )
