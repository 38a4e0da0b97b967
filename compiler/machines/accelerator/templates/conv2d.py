"""Convolutions on the GEMM array, and the requantisation of their sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite
from typing import ClassVar

import numpy as np

from tandem.compiler import te
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.machines.accelerator.lower.coded_blocks import CodedBlocks
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates import conv2d_pipelined as pipelined
from tandem.compiler.machines.accelerator.templates import conv2d_tiled as tiled
from tandem.compiler.machines.accelerator.templates.coded_packing import (
    StoredWeight,
    blank_forms,
)
from tandem.compiler.machines.accelerator.templates.conv2d_bound import least_cycles
from tandem.compiler.machines.accelerator.templates.conv2d_cycles import Conv2dCycles
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_cycles import (
    Prices,
)
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_cycles import (
    estimate as pipelined_estimate,
)
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_search import (
    best_choice as best_pipelined,
)
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.lower_bound import bus_cycles, lower_bound
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.packing import block_groups, pack_weight
from tandem.compiler.machines.accelerator.templates.products import largest_sum
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    requantise_passes,
    requantise_pattern,
)
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.traffic import needed_parts
from tandem.compiler.machines.accelerator.templates.window_packing import window_packings
from tandem.compiler.machines.accelerator.templates.work_counts import WorkCounts
from tandem.compiler.operators.blocks import DATA_AXES
from tandem.compiler.operators.pad import pad
from tandem.compiler.plan.pattern import Apply, Match, Operand
from tandem.compiler.plan.schedule_template import Arguments, HostPacking, KernelMatch, Shapes
from tandem.compiler.plan.space import Choices, Floats, Ints, Space
from tandem.compiler.te import Schedule, Tensor, compute, placeholder, reduce_axis
from tandem.compiler.te.knobs import Choice, OpenTrace
from tandem.compiler.te.tensor import Reduction
from tandem.hw.topology import MemoryId

_SHORTLIST = 96
"""Number of choices with the most threads that are simulated."""
_SHORTLIST_REQUANTISED = 4096
"""The same, where results leave requantised: without passes, the quick estimates of thousands of
choices are equal within one percent."""
_SHORTLIST_FEWER_THREADS = 16
"""Number of choices that are simulated for any lower number of threads."""

_MARGIN = 25
"""By how many transfers' overheads a choice of the wide space has to be better than the best base
choice: much of what a layer alone gains at its start and its end is hidden in a stream."""
_RELATIVE_MARGIN = 0.0015
"""By what part of it, at least: estimates are no better."""

_ABOVE_BOUND = 1.05
"""How far an estimate may be above the lower bound of a choice that is to be slower, as a factor;
chosen by the exact cycles of six networks (docs/tuner.md)."""
PRODUCT_PRICE = 0.25
"""Cycles that a choice of the wide space has to save for each of its products: a program of many
short ones takes long to compile, and on machines that hide them saves next to nothing."""
BUS_PRICE = 0.03
"""Cycles that a choice of the wide space has to save for each cycle of the bus, where that takes
more than one cycle for a beat: layers before and behind it share the bus (docs/tuner.md)."""

CONVOLUTION = Apply("conv2d", (Operand("data", INT8, (4,)), Operand("weight", INT8, constant=True)))


class Conv2dOnArray(AcceleratorTemplate[Conv2dWorkload]):
    """Programs of `conv2d_tiled`; of the wide space, of `conv2d_pipelined`."""

    name = "conv2d"
    patterns: ClassVar[tuple[Apply, ...]] = (
        requantise_pattern(CONVOLUTION),
        requantise_pattern(CONVOLUTION, skip_rank=4),
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
        stored = StoredWeight.of(found, machine.config, given.groups)
        workload = Conv2dWorkload(
            found.shape("data"),
            weight.shape,
            given.strides,
            given.padding,
            given.dilation,
            groups,
            passes,
            stored.coding,
        )
        tensors = {"weight": weight, **numbers.tensors}
        return workload, Arguments(tensors, numbers.immediates, stored.forms, stored.remark)

    def minimum_traffic(self, workload: Conv2dWorkload) -> Mapping[str, Fraction]:
        image, taps = needed_parts(workload.windows)
        return {"data": image, "weight": taps}

    def repacked(
        self, match: Match, shapes: Shapes, machine: AcceleratorTarget
    ) -> tuple[HostPacking, ...]:
        """im2col for images of few channels: windows are packed, whole or by rows."""
        return window_packings(match, shapes, machine)

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
        tensors, sums = self.sums(workload, packed=packed)
        output, operands = workload.epilogue.compute(sums)
        return Schedule.of(output, inputs=(*tensors, *operands))

    def sums(
        self, workload: Conv2dWorkload, *, packed: bool = False
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """The tensors of data and weight, and `out_sum`."""
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
        return (data, weight), compute(shape, element, "out_sum", DATA_AXES)

    def stored(
        self, workload: Conv2dWorkload, machine: AcceleratorTarget
    ) -> dict[str, CodedBlocks]:
        return blank_forms(workload.weight, workload.coding, machine.config)

    def weight(self, workload: Conv2dWorkload) -> tuple[Tensor, Callable[..., Expr]]:
        """The tensor of weights, and its elements by block of outputs, block of inputs, row and
        column of the kernel, output and input."""
        weight = placeholder(workload.weight, INT8, "weight")
        return weight, lambda *at: weight[at]

    # Choices --------------------------------------------------------------------------------------

    def space(self, workload: Conv2dWorkload, machine: AcceleratorTarget) -> Space:
        return tiled.space(workload, machine)

    def wide_space(self, workload: Conv2dWorkload, machine: AcceleratorTarget) -> Space | None:
        return pipelined.space(workload)

    def sketch(self, workload: Conv2dWorkload, machine: AcceleratorTarget) -> OpenTrace:
        return tiled.sketch(workload, machine)

    def usage(self, workload: Conv2dWorkload, choices: Choices) -> dict[MemoryId, Ints]:
        if pipelined.is_pipelined(choices):
            return pipelined.usage(workload, choices)
        return tiled.usage(workload, choices)

    def work_counts(self, workload: Conv2dWorkload, choices: Choices) -> WorkCounts:
        if pipelined.is_pipelined(choices):
            return pipelined.work_counts(workload, choices)
        return tiled.work_counts(workload, choices)

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

    def counts_are_exact(self, workload: Conv2dWorkload) -> bool:
        # With groups, fewer elements are loaded where a step continues into the next group.
        return workload.groups == 1

    def least_cycles(self, workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Floats:
        if pipelined.is_pipelined(choices):
            return super().least_cycles(workload, choices, cost)
        return least_cycles(workload, choices, cost)

    def estimate(self, workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Floats:
        """Estimated cycles, by `Conv2dCycles.simulated`; of the wide space by its own model."""
        if pipelined.is_pipelined(choices):
            return pipelined_estimate(workload, choices, cost)
        return Conv2dCycles(workload, choices, cost).simulated()

    def wide_choice(
        self, workload: Conv2dWorkload, choice: Choice, cost: MachineCost
    ) -> Choice | None:
        """The best choice of the wide space, by its prices, if its estimate is clearly below a base
        choice's, or below what the base choice takes at least; and in no case much above that: of
        many short LOADs estimates are too high, as latencies overlap."""
        one = Choices.of([choice])
        (known,) = self.estimate(workload, one, cost)
        if not isfinite(known):
            return None  # What is not modelled cannot be compared.
        (bound,) = lower_bound(self, workload, one, cost)
        below = _clearly_below(max(known, bound), cost)
        if self.counts_are_exact(workload):
            below = min(below, _ABOVE_BOUND * bound)
        prices = prices_of(cost)
        below += prices.bus * float(bus_cycles(self.work_counts(workload, one), cost)[0])
        found = best_pipelined(workload, cost, below, prices)
        return None if found is None else found[0]


def prices_of(cost: MachineCost) -> Prices:
    """The prices of choices of the wide space."""
    return Prices(PRODUCT_PRICE, BUS_PRICE if cost.memory.interval > 1 else 0.0)


def _clearly_below(known: float, cost: MachineCost) -> float:
    """What an estimate has to be below, to be better than `known` cycles by the margins."""
    return known - max(_MARGIN * cost.overhead, _RELATIVE_MARGIN * known)
