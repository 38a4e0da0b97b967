"""The wide space of dense layers: loads, products and passes that overlap within one tile.

::

    for tiles of oc, n:
      for steps of ic:
        load a part of the data
        for parts of oc:
          reset the part's sums, in the first step
          load weights, multiply
          in the last step, the passes of the epilogue, and store

This is `conv2d_pipelined` for a convolution of 1x1 whose pixels are the rows: there is one virtual
thread, and data, weights and sums have slots that are taken in rotation. Capacity, repeated loads
and cycles are those of that convolution; the layouts in DRAM are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from compiler.machines.accelerator.intrinsics.base import gemm
from compiler.machines.accelerator.intrinsics.scopes import OnChip
from compiler.machines.accelerator.machine import AcceleratorTarget
from compiler.machines.accelerator.templates import conv2d_pipelined as pipelined
from compiler.machines.accelerator.templates.conv2d_cycles import Conv2dWorkload
from compiler.machines.accelerator.templates.conv2d_pipelined_cycles import (
    estimate as pipelined_estimate,
)
from compiler.machines.accelerator.templates.conv2d_pipelined_cycles import remainder_and_whole
from compiler.machines.accelerator.templates.epilogue import Epilogue
from compiler.machines.accelerator.templates.machine_cost import MachineCost
from compiler.machines.accelerator.templates.products import Products
from compiler.machines.accelerator.templates.tiling import tensorize_reduction, tile_output
from compiler.machines.accelerator.templates.work_counts import (
    Output,
    ReductionWork,
    WorkCounts,
    kernel_length,
    tile_shapes,
    transfers_of,
)
from compiler.plan.space import Bools, Choices, Floats, Ints, Space, divisors, tile_sizes
from compiler.te.knobs import Choice, OpenTrace, Setting, knob
from hw.topology import MemoryId

ORDERS = {"outputs": ("oc_o", "n_o"), "rows": ("n_o", "oc_o")}
"""The loops over tiles: `outputs` keeps the output channels longest, `rows` the rows."""
_SLOTS: Mapping[str, str] = {
    "data_slots": "image_slots",
    "weight_slots": "weight_slots",
    "sum_slots": "sum_slots",
}
"""The knobs for numbers of slots, and those of the convolution."""


def space(products: Products) -> Space:
    """The knobs: sizes of tiles, steps and parts, and slots."""
    return Space(
        {
            "threads": (1,),
            "ic": divisors(products.inputs),
            "oc": divisors(products.outputs),
            "part": divisors(products.outputs),
            "n": tile_sizes(products.rows),
            "order": tuple(ORDERS),
            "along": ("oc",),
            **{name: pipelined.SLOTS[of_image] for name, of_image in _SLOTS.items()},
        },
        lambda choices: _consistent(products, choices),
    )


def _consistent(products: Products, choices: Choices) -> Bools:
    """Whether parts divide tiles, and no two choices are one program."""
    return pipelined.consistent(*_as_convolution(products, Epilogue(), choices))


def _as_convolution(
    products: Products, epilogue: Epilogue, choices: Choices
) -> tuple[Conv2dWorkload, Choices]:
    """The convolution of 1x1 whose columns are the rows, and its choices with the same tiles."""
    workload = Conv2dWorkload(
        (1, products.inputs, 1, products.rows, products.batch, products.depth),
        (products.outputs, products.inputs, 1, 1, products.lanes, products.depth),
        strides=(1, 1),
        padding=(0, 0, 0, 0),
        dilation=(1, 1),
        groups=1,
        passes=epilogue.passes,
    )
    one = np.ones(len(choices), np.int64)
    slots = {of_image: choices[name] for name, of_image in _SLOTS.items()}
    columns = {**choices.columns, "ky": one, "y": one, "x": choices["n"], **slots}
    return workload, replace(choices, columns=columns)


def settings(products: Products, choice: Choice) -> dict[str, Setting]:
    """A choice with numbers of slots, as the sketch takes them."""
    found = pipelined.slots(*_as_convolution(products, Epilogue(), Choices.of([choice])))
    return {**choice, **{name: int(found[of].item()) for name, of in _SLOTS.items()}}


def sketch(products: Products, epilogue: Epilogue, machine: AcceleratorTarget) -> OpenTrace:
    """The schedule primitives, with open knobs."""
    out, sums, config = "out", "out_sum", machine.config
    inner = ("thread", "n_i", "oc_i", "b", "bo")
    order = knob("order", {name: (*loops, *inner) for name, loops in ORDERS.items()})
    steps = tile_output(("n", "oc"), ("oc",), (order,)).set_scope(sums, OnChip.ACC)
    steps = (
        epilogue.load_inputs(epilogue.place(steps).compute_at(sums, out, "thread"))
        .split(sums, "ic", knob("ic"), ("ic_o", "ic_i"))
        .split(sums, "oc", knob("part"), ("part", "oc"))
        .reorder(sums, "ic_o", "part", "n", "oc", "ic_i", "b", "bo", "bi")
        .decompose_reduction(sums, "ic_o")
        .eager(f"{sums}_init", "part")
        .multi_buffer(sums, knob("sum_slots"))
    )
    for stage in epilogue.stages:
        steps = (
            steps.split(stage, "oc", knob("part"), ("part", "oc"))
            .reorder(stage, "part", "n", "oc", "b", "bo")
            .eager(stage, "part")
            .multi_buffer(stage, knob("sum_slots"))
        )
    steps = (
        steps.split(out, "oc_i", knob("part"), ("part", "oc_i"))
        .reorder(out, "part", "n_i", "oc_i", "b", "bo")
        .eager(out, "part")
        .cache_read("data", (sums,), OnChip.INP, "out_data")
        .cache_read("weight", (sums,), OnChip.WGT, "out_weight")
        .compute_at("out_weight", sums, "part")
        .compute_at("out_data", sums, "ic_o")
        .multi_buffer("out_weight", knob("weight_slots"))
        .multi_buffer("out_data", knob("data_slots"))
    )
    steps = epilogue.tensorize(steps, config)
    return tensorize_reduction(steps, sums, gemm(config).function, config).trace


def usage(products: Products, epilogue: Epilogue, choices: Choices) -> dict[MemoryId, Ints]:
    """Elements of each memory that a choice takes."""
    return pipelined.usage(*_as_convolution(products, epilogue, choices))


def work_counts(products: Products, epilogue: Epilogue, choices: Choices) -> WorkCounts:
    """The traffic and arithmetic of the programs of choices."""
    rows, outputs, inputs = products.rows, products.outputs, products.inputs
    n, part, ic = (choices[axis] for axis in ("n", "part", "ic"))
    of_weights, of_data = pipelined.repeats(*_as_convolution(products, epilogue, choices))
    weights = transfers_of(
        MemoryId.WGT, tile_shapes((outputs, inputs), (part, ic)), (outputs, inputs)
    )
    data = transfers_of(MemoryId.INP, tile_shapes((rows, inputs), (n, ic)), (rows, inputs))
    resident, size = np.ones(len(choices), np.bool_), rows * outputs
    loads = weights.times(of_weights), data.times(of_data)
    counts = WorkCounts.of(
        Output((rows, outputs), (n, part)),
        epilogue,
        resident,
        loads,
        np.ones(len(choices)),
        kernel_length(n, part, ic),
        ReductionWork(inputs // ic, size * inputs, size),
    )
    # Residuals in INP and parameters are loaded for whole tiles.
    _, *operands = Output((rows, outputs), (n, choices["oc"])).copies(epilogue, resident)
    return replace(counts, copies=(*loads, counts.copies[len(loads)], *operands))


def estimate(products: Products, epilogue: Epilogue, choices: Choices, cost: MachineCost) -> Floats:
    """Cycles, by the simulation of `conv2d_pipelined_cycles`: rows are loaded by one LOAD, and
    stored row by row."""
    n = remainder_and_whole(products.rows, choices["n"])[:, None, :]
    ic, part = (choices[name][:, None, None] for name in ("ic", "part"))
    data = cost.load(MemoryId.INP, n * ic) + cost.fetch
    stores = n * (cost.store_gap + cost.beats(MemoryId.OUT, part))
    workload, of_convolution = _as_convolution(products, epilogue, choices)
    return pipelined_estimate(workload, of_convolution, cost, image=data, stores=stores)
