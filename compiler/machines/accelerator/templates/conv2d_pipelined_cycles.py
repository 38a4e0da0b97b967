"""Estimated cycles of the choices of a convolution's wide space."""

from __future__ import annotations

import numpy as np

from tandem.base.jit import compiled
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined import (
    image_extents,
    loads_of_tile,
    repeats,
    slots,
    taps,
)
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.work_counts import kernel_length
from tandem.compiler.plan.space import Choices, Floats, Ints
from tandem.hw.topology import MemoryId

LONGEST = 2000
"""Maximum number of simulated products; a longer program is extrapolated at the same rate."""
_HANDOVER = 8
"""Cycles from the end of an instruction to the start of one of another unit that waits for it."""


def estimate(
    workload: Conv2dWorkload,
    choices: Choices,
    cost: MachineCost,
) -> Floats:
    """Cycles, by simulation of loads, products, passes and stores on the decoupled units; infinite
    where micro-ops do not stay on chip, which is not modelled.

    Every product is simulated, with the loads that it waits for: single cycles of pipelines and of
    the bus's arbitration are not.
    """
    extents, epilogue = workload.extents, workload.epilogue
    ic, part = choices["ic"], choices["part"]
    loads, taken = loads_of_tile(workload, choices), slots(workload, choices)
    steps, parts = loads["image_slots"], choices["oc"] // part
    of_kernel = workload.weight[2] // choices["ky"]
    channels = -(-extents["oc"] // choices["oc"])
    readers = workload.blocks_per_group // choices["oc"]
    weights_again, image_again = repeats(workload, choices)
    pixels = -(-extents["y"] // choices["y"]) * -(-extents["x"] // choices["x"])
    y = _remainder_and_whole(extents["y"], choices["y"])[:, :, None]
    x = _remainder_and_whole(extents["x"], choices["x"])[:, None, :]
    size = part[:, None, None] * y * x
    rows, columns = image_extents(workload, y, x)
    height, width = workload.data[2:4]
    inside = np.minimum(rows, height) * np.minimum(columns, width)
    # Fetch comes before loads on the bus: a LOAD's own instruction, and those of compute.
    blocks = ic[:, None, None]
    if workload.channels_together:
        image = cost.load(MemoryId.INP, blocks * inside) + cost.fetch
    else:
        image = cost.load(MemoryId.INP, inside, rows * columns - inside) + cost.fetch
        image = blocks * image
    passes = epilogue.tensor_passes * cost.alu(size, tensor_operand=True)
    passes = passes + (epilogue.immediate_passes + epilogue.input_operands) * size
    passes = passes + epilogue.element_operands * cost.load(MemoryId.ACC_8BIT, size)
    residual = epilogue.input_operands * cost.load(MemoryId.INP, size)
    times, run = part[:, None, None], y * x
    if workload.channels_together:
        times, run = run, times
    stores = times * (cost.store_gap + cost.beats(MemoryId.OUT, run))
    # Each pair of slots has a kernel of its own.
    length = kernel_length(part, choices["y"], choices["x"], ic, choices["ky"], workload.weight[3])
    products = of_kernel * parts
    pairs = np.lcm(taken["weight_slots"], taken["image_slots"] * products) * taken["sum_slots"]
    kernels = np.minimum(pairs, channels * pixels * steps * products) * length
    outputs = np.full(len(choices), extents["oc"])
    ahead = 2 * cost.config.fetch_buffer * cost.memory.interval
    begin = ahead + cost.load(MemoryId.UOP, kernels)
    operands = len(epilogue.channel_operands) * cost.load(MemoryId.ACC, outputs)
    of_weights = cost.load(MemoryId.WGT, part * ic * taps(workload, choices)) + 2 * cost.fetch
    # An extrapolated program may load operands later that stayed in the simulated tiles.
    loading = weights_again * channels * steps * products * of_weights
    images = workload.data[0] * workload.groups
    loading = loading + images * image_again * pixels * steps * image[:, -1, -1]
    found = np.zeros(len(choices), np.float64)
    numbers = (
        begin,
        steps,
        parts,
        channels,
        choices["y"],
        choices["x"],
        choices.equals("order", "outputs").astype(np.int64),
        taken["image_slots"],
        taken["weight_slots"],
        taken["sum_slots"],
        # Operands that are loaded once for the inner loops stay.
        (image_again < readers).astype(np.int64),
        (weights_again < pixels * workload.data[0]).astype(np.int64),
        of_weights,
        begin - cost.overhead,
        of_kernel,
        operands,
        readers,
    )
    whole = (len(choices), 2, 2)
    durations = [
        np.broadcast_to(duration, whole)
        for duration in (
            image,
            size * (not cost.overwrites),
            size * (ic * taps(workload, choices))[:, None, None],
            passes,
            residual,
            stores,
        )
    ]
    _simulate(
        found,
        np.ascontiguousarray(np.stack(numbers, axis=1), np.int64),
        np.ascontiguousarray(np.stack(durations, axis=1), np.int64),
        workload.data[0],
        extents["y"],
        extents["x"],
        cost.overhead,
        np.zeros((2, taken["image_slots"].max(initial=1)), np.int64),
        np.zeros((2, taken["weight_slots"].max(initial=1)), np.int64),
        np.zeros((taken["sum_slots"].max(initial=1), parts.max(initial=1)), np.int64),
    )
    fits = kernels <= cost.config.depth(MemoryId.UOP)
    return np.where(fits, np.maximum(found, loading), np.inf)


def _remainder_and_whole(extent: int, size: Ints) -> Ints:
    """The remainder of an axis, and a whole tile: [choices, 2]."""
    return np.stack([extent - (extent - 1) // size * size, size], axis=1)


@compiled
def _simulate(
    found: Floats,
    numbers: Ints,
    durations: Ints,
    batches: int,
    height: int,
    width: int,
    overhead: int,
    image: Ints,
    weight: Ints,
    stored: Ints,
) -> None:
    """The simulation: a loop over choices, tiles, steps and parts."""
    # Of each slot, the cycle in which it is free, and the box of data in it.
    image_free, image_box = image[0], image[1]
    weight_free, weight_box = weight[0], weight[1]
    for row in range(len(found)):
        begin, steps, parts, channels, y, x, outputs = numbers[row, :7]
        image_slots, weight_slots, sum_slots = numbers[row, 7:10]
        keeps_image, keeps_weights, of_weights, behind, rows, operands = numbers[row, 10:16]
        groups = channels // numbers[row, 16]
        down, across = (height + y - 1) // y, (width + x - 1) // x
        pixels = down * across
        tiles = batches * channels * pixels
        most = max(4, LONGEST // (steps * rows * parts))
        image_free[:] = 0
        weight_free[:] = 0
        image_box[:] = -1
        weight_box[:] = -1
        for slot in range(sum_slots):
            stored[slot, :] = 0
        # The first loads wait for the bus: for fetch, and for what compute loads.
        compute, load, store = begin, behind, 0
        images = weights = 0
        # Meanwhile compute resets the sums of the first tile.
        compute += parts * durations[row, 1, int(down > 1), int(across > 1)]
        half, half_volume, volume = 0, 0, 0
        for tile in range(min(tiles, most)):
            batch, rest = tile // (channels * pixels), tile % (channels * pixels)
            if outputs:
                channel, pixel = rest // pixels, rest % pixels
            else:
                channel, pixel = rest % channels, rest // channels
            a = int(pixel // across < down - 1)
            b = int(pixel % across < across - 1)
            accumulators = tile % sum_slots
            for step in range(steps):
                slot = images % image_slots
                images += 1
                group = channel * groups // channels
                box = ((batch * groups + group) * pixels + pixel) * steps + step
                if not keeps_image or image_box[slot] != box:
                    load = max(load, image_free[slot]) + durations[row, 0, a, b]
                    image_box[slot] = box
                image_ready = load
                for product in range(rows * parts):
                    part = product % parts
                    at = weights % weight_slots
                    weights += 1
                    box = (channel * steps + step) * rows * parts + product
                    if not keeps_weights or weight_box[at] != box:
                        load = max(load, weight_free[at]) + of_weights
                        weight_box[at] = box
                        ready = load
                    else:
                        ready = image_ready
                    if tile > 0 and step == 0 and product < parts:
                        compute = max(compute, stored[accumulators, part])
                        compute += durations[row, 1, a, b]
                    compute = max(compute, ready + _HANDOVER) + durations[row, 2, a, b]
                    weight_free[at] = compute + _HANDOVER
                    if step == steps - 1 and product >= (rows - 1) * parts:
                        compute += operands
                        operands = 0
                        operand = durations[row, 4, a, b]
                        if operand > 0:
                            load += operand
                            compute = max(compute, load)
                        compute += durations[row, 3, a, b]
                        store = max(store, compute + _HANDOVER) + durations[row, 5, a, b]
                        stored[accumulators, part] = store + overhead
                image_free[slot] = compute + _HANDOVER
            volume += (y if a else height - (down - 1) * y) * (x if b else width - (across - 1) * x)
            if tile == most // 2 - 1:
                half, half_volume = compute, volume
        end = float(compute)
        total = batches * channels * height * width
        if volume < total:
            # Extrapolate at the rate of the second half of the simulated tiles.
            end += (compute - half) / max(1, volume - half_volume) * (total - volume)
        found[row] = end + max(0, store - compute) + overhead
