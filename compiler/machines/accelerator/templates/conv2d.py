"""Convolutions on the GEMM array, and the requantisation of their sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import prod
from typing import ClassVar

import numpy as np

from compiler import te
from compiler.graph.constant import Constant
from compiler.graph.nodes import Call, Var
from compiler.graph.operators.layouts import PackWindows
from compiler.graph.operators.products import Conv2d
from compiler.ir.dtypes import INT8, INT32
from compiler.ir.expr import Expr
from compiler.ir.ops import index
from compiler.machines.accelerator.intrinsics.base import gemm
from compiler.machines.accelerator.intrinsics.scopes import OnChip
from compiler.machines.accelerator.machine import AcceleratorTarget
from compiler.machines.accelerator.templates import conv2d_pipelined as pipelined
from compiler.machines.accelerator.templates.conv2d_bound import least_cycles
from compiler.machines.accelerator.templates.conv2d_cycles import (
    ORDERS,
    Conv2dCycles,
    Conv2dWorkload,
)
from compiler.machines.accelerator.templates.conv2d_pipelined_cycles import (
    estimate as pipelined_estimate,
)
from compiler.machines.accelerator.templates.epilogue import requantise_passes, requantise_pattern
from compiler.machines.accelerator.templates.machine_cost import MachineCost
from compiler.machines.accelerator.templates.packing import block_groups, pack_weight
from compiler.machines.accelerator.templates.products import largest_sum
from compiler.machines.accelerator.templates.template import AcceleratorTemplate
from compiler.machines.accelerator.templates.tiling import (
    operand_accumulators,
    parameter_usage,
    resident_operands,
    tensorize_reduction,
    tile_output,
)
from compiler.machines.accelerator.templates.traffic import loaded_elements, needed_parts
from compiler.machines.accelerator.templates.work_counts import (
    Output,
    ReductionWork,
    TransferCounts,
    WorkCounts,
    thread_redundancy,
    tile_shapes,
    transfers_of,
)
from compiler.operators.blocks import DATA_AXES
from compiler.operators.pad import pad
from compiler.plan.pattern import Apply, Match, Operand
from compiler.plan.schedule_template import Arguments, HostPacking, KernelMatch, Shapes
from compiler.plan.space import Bools, Choices, Floats, Ints, Space, tile_sizes
from compiler.te import Schedule, Tensor, compute, placeholder, reduce_axis
from compiler.te.knobs import Choice, OpenTrace, knob
from compiler.te.tensor import Reduction
from hw.topology import MemoryId

_SHORTLIST = 96
"""Number of choices with the most threads that are simulated."""
_SHORTLIST_REQUANTISED = 4096
"""The same, where results leave requantised: without passes, the quick estimates of thousands of
choices are equal within one percent."""
_SHORTLIST_FEWER_THREADS = 16
"""Number of choices that are simulated for any lower number of threads."""

_SUMS = Apply("conv2d", (Operand("data", INT8, (4,)), Operand("weight", INT8, constant=True)))


class Conv2dOnArray(AcceleratorTemplate[Conv2dWorkload]):
    """::

    for n, tiles of oc, y, x:
      for virtual threads:
        reset the tile's sums
        for steps of ic:
          load weights, load a part of the image, multiply
        the passes of the epilogue
        store

    The operand that stays on chip (knob `order`) is loaded in an outer loop, for the whole sum.
    Threads share the tiles of one axis (knob `along`).
    """

    name = "conv2d"
    patterns: ClassVar[tuple[Apply, ...]] = (
        requantise_pattern(_SUMS),
        requantise_pattern(_SUMS, skip_rank=4),
    )
    array_operand = "data"

    def bind(
        self, found: KernelMatch, machine: AcceleratorTarget
    ) -> tuple[Conv2dWorkload, Arguments]:
        given = found.match.attributes("conv2d", Conv2d)
        constant = found.match.constant("weight")
        merged, groups = block_groups(constant.array, given.groups, machine.config)
        weight = pack_weight(merged, machine.config)
        passes, numbers = requantise_passes(found, largest_sum(constant), machine.config)
        workload = Conv2dWorkload(
            found.shape("data"),
            weight.shape,
            given.strides,
            given.padding,
            given.dilation,
            groups,
            passes,
        )
        return workload, Arguments({"weight": weight, **numbers.tensors}, numbers.immediates)

    def minimum_traffic(self, workload: Conv2dWorkload) -> Mapping[str, Fraction]:
        image, taps = needed_parts(workload.windows)
        return {"data": image, "weight": taps}

    def repacked(
        self, match: Match, shapes: Shapes, machine: AcceleratorTarget
    ) -> HostPacking | None:
        """im2col for images of few channels: windows are packed for a 1x1 convolution."""
        given = match.attributes("conv2d", Conv2d)
        first = match.let("conv2d")
        assert isinstance(first.value, Call), "matched"
        weight, block = match.constant("weight").array, machine.config.block_in
        outputs, channels, *kernel = weight.shape
        taps = prod(kernel)
        if given.groups != 1 or -(-channels * taps // block) >= -(-channels // block) * taps:
            return None
        data = match.variable("data")
        packing = PackWindows(
            tuple(kernel), machine.config.batch, block, given.strides, given.padding, given.dilation
        )
        flat = Constant(np.ascontiguousarray(weight.reshape(outputs, -1, 1, 1)))
        plain = replace(given, strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1))
        call = Call(first.value.callee, (Var(data), flat), plain)
        return HostPacking("windows", "pack_windows", packing, replace(first, value=call))

    # Tensor expressions ---------------------------------------------------------------------------

    def schedule(
        self, workload: Conv2dWorkload, choice: Choice, machine: AcceleratorTarget
    ) -> Schedule:
        if not pipelined.is_pipelined(choice):
            return super().schedule(workload, choice, machine)
        start = self.start(workload, machine, packed=pipelined.packs_rows(workload))
        settings = pipelined.settings(workload, choice)
        return start.replay(pipelined.sketch(workload, machine), settings)

    def start(
        self, workload: Conv2dWorkload, machine: AcceleratorTarget, *, packed: bool = False
    ) -> Schedule:
        """The unscheduled stages: `out_pad` if there is padding, `out_sum`, the passes, `out`.

        Parameters
        ----------
        packed
            Whether a stage `out_rows` has only the rows of the image that windows of one row read.
        """
        rows, columns = workload.windows
        (_, channels, tall, wide, lanes, depth) = workload.weight
        data = placeholder(workload.data, INT8, "data")
        weight, weight_at = self.weight(workload)
        padded = data
        if any(workload.padding):
            top, left, bottom, right = workload.padding
            borders = (0, 0, top, left, 0, 0, 0, 0, bottom, right, 0, 0)
            padded = pad(data, borders, name="out_pad")
        if packed:
            whole = padded
            shape = (*padded.shape[:2], rows.count, *padded.shape[3:])
            padded = compute(
                shape,
                lambda n, c, y, x, b, k: whole[n, c, rows.place(y, index(0)), x, b, k],
                "out_rows",
                DATA_AXES,
            )
        ic, bi = reduce_axis(channels, "ic"), reduce_axis(depth, "bi")
        ky, kx = reduce_axis(tall, "ky"), reduce_axis(wide, "kx")
        own = workload.blocks_per_group

        def element(n: Expr, oc: Expr, y: Expr, x: Expr, b: Expr, bo: Expr) -> Reduction:
            block: Expr = ic
            if workload.groups > 1:
                block = (oc if own == 1 else oc // own) * channels + ic
            row = y if packed else rows.place(y, ky)
            pixel = padded[n, block, row, columns.place(x, kx), b, bi]
            product = te.cast(pixel, INT32) * te.cast(weight_at(oc, ic, ky, kx, bo, bi), INT32)
            return te.sum(product, (ic, ky, kx, bi))

        shape = (data.shape[0], workload.weight[0], rows.count, columns.count, data.shape[4], lanes)
        sums = compute(shape, element, "out_sum", DATA_AXES)
        output, operands = workload.epilogue.compute(sums)
        return Schedule.of(output, inputs=(data, weight, *operands))

    def weight(self, workload: Conv2dWorkload) -> tuple[Tensor, Callable[..., Expr]]:
        """The tensor of weights, and its elements by block of outputs, block of inputs, row and
        column of the kernel, output and input."""
        weight = placeholder(workload.weight, INT8, "weight")
        return weight, lambda *at: weight[at]

    def weight_loads(self, workload: Conv2dWorkload, oc: Ints, ic: Ints) -> TransferCounts:
        """The LOADs that bring all weights once, in tiles of `oc` outputs and `ic` inputs."""
        kernels = (*workload.weight[:2], workload.taps)
        boxes = tile_shapes(kernels, (oc, ic, np.full_like(oc, workload.taps)))
        return transfers_of(MemoryId.WGT, boxes, kernels)

    def weight_blocks(self, workload: Conv2dWorkload, oc: Ints) -> Ints:
        """The blocks of outputs whose weights are on chip for `oc` blocks of outputs."""
        return oc

    # Schedule -------------------------------------------------------------------------------------

    def space(self, workload: Conv2dWorkload, machine: AcceleratorTarget) -> Space:
        extents = workload.extents
        return Space(
            {
                "threads": (2, 1),
                **{axis: tile_sizes(extents[axis]) for axis in ("ic", "oc", "x", "y")},
                "order": tuple(ORDERS),
                "along": ("oc", "y", "x"),
                **({} if self._operands_stay(workload, machine) else {"resident": (0,)}),
            },
            partial(_consistent, workload),
        )

    def wide_space(self, workload: Conv2dWorkload, machine: AcceleratorTarget) -> Space | None:
        return pipelined.space(workload)

    def _operands_stay(self, workload: Conv2dWorkload, machine: AcceleratorTarget) -> bool:
        """Whether the operands of all channels stay on chip: they do not fill ACC."""
        operands = len(workload.epilogue.channel_operands) * workload.weight[0]
        return operands < machine.config.depth(MemoryId.ACC)

    def sketch(self, workload: Conv2dWorkload, machine: AcceleratorTarget) -> OpenTrace:
        out, sums, epilogue = "out", "out_sum", workload.epilogue
        axes = ("oc", "y", "x")
        outer = {order: tuple(f"{axis}_o" for axis in loops) for order, loops in ORDERS.items()}
        inner = ("thread", "oc_i", "y_i", "x_i", "b", "bo")
        order = knob("order", {each: ("n", *outer[each], *inner) for each in outer})
        steps = tile_output(axes, axes, (order,)).set_scope(sums, OnChip.ACC)
        resident = None if self._operands_stay(workload, machine) else "resident"
        steps = (
            epilogue.load_inputs(epilogue.place(steps, resident).compute_at(sums, out, "thread"))
            .split(sums, "ic", knob("ic"), ("ic_o", "ic_i"))
            .reorder(sums, "ic_o", "n", "oc", "y", "x", "ic_i", "ky", "kx", "b", "bo", "bi")
            .decompose_reduction(sums, "ic_o")
        )
        if any(workload.padding):
            image = "out_pad"
            steps = steps.set_scope(image, OnChip.INP)
        else:
            image = "out_data"
            steps = steps.cache_read("data", (sums,), OnChip.INP, image)
        steps = steps.cache_read("weight", (sums,), OnChip.WGT, "out_weight")
        # Weights first: they are constant, while the previous operator may still store the image.
        for copy, order, loop in (("out_weight", "weights", 0), (image, "image", 1)):
            loops = {each: (sums, "ic_o") for each in outer} | {order: (out, outer[order][loop])}
            reader, axis = (
                knob("order", {setting: names[part] for setting, names in loops.items()})
                for part in (0, 1)
            )
            steps = steps.compute_at(copy, reader, axis)
        config = machine.config
        steps = epilogue.tensorize(steps, config)
        return tensorize_reduction(steps, sums, gemm(config).function, config).trace

    def usage(self, workload: Conv2dWorkload, choices: Choices) -> dict[MemoryId, Ints]:
        if pipelined.is_pipelined(choices):
            return pipelined.usage(workload, choices)
        extents, epilogue = workload.extents, workload.epilogue
        tile = choices.at_most(extents)
        threads, oc, y, x = (tile[axis] for axis in ("threads", "oc", "y", "x"))
        image, weights = choices.equals("order", "image"), choices.equals("order", "weights")
        # An operand that stays has one buffer for all threads; else there is a buffer per thread.
        own_image, own_weights = np.where(image, 1, threads), np.where(weights, 1, threads)
        shared = {
            axis: choices.equals("along", axis) & (tile[axis] < extents[axis])
            for axis in ("oc", "y", "x")
        }
        of_oc, of_y, of_x = (
            np.where(kept & shared[axis], threads, 1)
            for kept, axis in ((weights, "oc"), (image, "y"), (image, "x"))
        )
        outputs = workload.weight[0]
        rows, columns = workload.input_extent(0, of_y * y), workload.input_extent(1, of_x * x)
        channels, inputs = workload.weight[1], workload.data[1]
        blocks = np.minimum((workload.spanned_groups(oc) - 1) * channels + choices["ic"], inputs)
        return {
            MemoryId.ACC: threads * oc * y * x * (1 + epilogue.element_operands)
            + operand_accumulators(tile, epilogue, outputs),
            MemoryId.INP: own_image
            * np.minimum(rows, workload.padded[0])
            * np.minimum(columns, workload.padded[1])
            * np.where(image, inputs, blocks)
            + threads * oc * y * x * epilogue.input_operands,
            MemoryId.WGT: own_weights
            * self.weight_blocks(workload, np.minimum(of_oc * oc, outputs))
            * np.where(weights, channels, tile["ic"])
            * workload.taps,
            **parameter_usage(epilogue, outputs, threads * oc),
        }

    # Costs ----------------------------------------------------------------------------------------

    def shortlist(self, workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Choices:
        """The best choices by `quick_estimate`, for each number of threads."""
        estimates = Conv2dCycles(workload, choices, cost).quick_estimate()
        sizes = choices["oc"] * choices["y"] * choices["x"]
        rows = np.lexsort((-sizes, estimates))
        most, kept = choices["threads"].max(), []
        longest = _SHORTLIST if workload.epilogue.requantise is None else _SHORTLIST_REQUANTISED
        for threads in np.unique(choices["threads"])[::-1]:
            same = rows[choices["threads"][rows] == threads]
            kept.append(same[: longest if threads == most else _SHORTLIST_FEWER_THREADS])
        return choices.where(np.concatenate(kept))

    def work_counts(self, workload: Conv2dWorkload, choices: Choices) -> WorkCounts:
        if pipelined.is_pipelined(choices):
            return pipelined.work_counts(workload, choices)
        images, extents, own = workload.data[0], workload.extents, workload.blocks_per_group
        oc, y, x, ic = (choices[axis] for axis in ("oc", "y", "x", "ic"))
        kept = {each: choices.equals("order", each) for each in ("weights", "image")}
        whole = tuple(extents[axis] for axis in ("oc", "y", "x"))
        redundancy = thread_redundancy(choices, dict(zip(("oc", "y", "x"), whole, strict=True)))
        parts, oc_tiles = -(-whole[1] // y) * -(-whole[2] // x), -(-whole[0] // oc)
        # Number of groups that a tile reads, and of reads of each group.
        groups = np.where(kept["image"], workload.groups, workload.spanned_groups(oc))
        times = np.where(kept["image"], 1, oc_tiles)
        # A group's last step continues into the next group, if there is one.
        last_group, steps = 1 / workload.groups, -(-extents["ic"] // ic)
        beyond = steps * ic - extents["ic"]
        image = (
            (
                np.asarray(count * times * share),
                (groups * depth, *self._input_tile(workload, rows, columns)),
            )
            for count, (rest, rows, columns) in tile_shapes((extents["ic"], *whole[1:]), (ic, y, x))
            for share, depth in ((last_group, rest), (1 - last_group, ic))
        )
        pixels = prod(
            loaded_elements(window, sizes)
            for window, sizes in zip(workload.windows, (y, x), strict=True)
        )
        # The remainder of an axis spans fewer groups than whole tiles.
        spans = np.where(kept["image"], workload.groups, np.maximum(oc_tiles, workload.groups))
        of_weights = self.weight_loads(workload, oc, ic)
        of_image = replace(
            transfers_of(MemoryId.INP, image, workload.data[1:4]),
            elements=(steps * ic - last_group * beyond) * spans * pixels,
        )
        size = images * prod(whole)
        # If a tile spans several groups, each block has its own GEMM instructions.
        blocks = np.where((workload.spanned_groups(oc) > 1) & (own > 1), oc, 1)
        return WorkCounts.of(
            Output((images, *whole), (np.ones_like(oc), oc, y, x)),
            workload.epilogue,
            resident_operands(choices),
            (
                of_weights.times(images * np.where(kept["weights"], 1, parts * redundancy)),
                of_image.times(images * np.where(kept["image"], 1, redundancy)),
            ),
            redundancy,
            workload.kernel_length(choices),
            ReductionWork(steps * blocks, size * extents["ic"] * workload.taps, size),
        )

    def counts_are_exact(self, workload: Conv2dWorkload) -> bool:
        # With groups, fewer elements are loaded where a step continues into the next group.
        return workload.groups == 1

    def least_cycles(self, workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Floats:
        if pipelined.is_pipelined(choices):
            return super().least_cycles(workload, choices, cost)
        return least_cycles(workload, choices, cost)

    def _input_tile(self, workload: Conv2dWorkload, y: Ints, x: Ints) -> tuple[Ints, Ints]:
        """The most rows and columns of the image that a tile loads, not counting padding: from its
        first window to its last, between strides too."""
        rows, columns = workload.input_extent(0, y), workload.input_extent(1, x)
        return np.minimum(rows, workload.data[2]), np.minimum(columns, workload.data[3])

    def estimate(self, workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Floats:
        """Estimated cycles, by `Conv2dCycles.simulated`; of the wide space by its own model."""
        if pipelined.is_pipelined(choices):
            return pipelined_estimate(workload, choices, cost)
        return Conv2dCycles(workload, choices, cost).simulated()


def _consistent(workload: Conv2dWorkload, choices: Choices) -> Bools:
    """Whether the operand that stays serves all threads and the whole sum, and each step reads a
    contiguous part of the image."""
    image, weights = choices.equals("order", "image"), choices.equals("order", "weights")
    shares_channels = choices.equals("along", "oc")
    possible = ~(image & ~shares_channels) & ~(weights & shares_channels)
    possible &= choices.equals("order", "outputs") | (choices["ic"] == workload.weight[1])
    if workload.groups > 1:
        own = workload.blocks_per_group
        within = own % choices["oc"] == 0
        whole = (choices["oc"] % own == 0) & (choices["ic"] == workload.weight[1])
        possible &= within | whole
    return possible
