"""A lower bound of the exact cycles of a convolution's base choices, by relaxed simulation.

Every LOAD, product, pass and STORE is simulated in the order of the program, with the dependences
that its tokens express and with the least time that the timing rules (ARCHITECTURE.md) allow each.
All rules are sums and maxima of times: with fewer dependences and shorter instructions, no time in
the simulation can be later than in the machine. What is left out is the contention of the bus, and
instructions that are counted once where a program may need several.
"""

from __future__ import annotations

import numpy as np

from compiler.machines.accelerator.templates.conv2d_tiled import ORDERS
from compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from compiler.machines.accelerator.templates.machine_cost import MachineCost
from compiler.machines.accelerator.templates.tiling import resident_operands
from compiler.machines.accelerator.templates.work_counts import transfers_of
from compiler.plan.space import Bools, Choices, Floats, Ints
from hw.config import HardwareConfig
from hw.encoding import INSTRUCTION_BYTES, gemm_layout
from hw.jit import compiled, inlined
from hw.timing import CHECK_STAGES, TRANSFER_OVERHEAD, pipeline_depth
from hw.topology import MemoryId

_END = 5
"""Cycles from the last end of a STORE to the end of the run, at least (rule 9)."""


def least_cycles(workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Floats:
    """Cycles that no program of these choices can go below; of one group."""
    extents, epilogue = workload.extents, workload.epilogue
    latency, interval, config = cost.memory.latency, cost.memory.interval, cost.config
    alone = latency + TRANSFER_OVERHEAD + 1 - interval

    def load(memory: MemoryId, elements: int) -> int:
        return alone + max(int(cost.beats(memory, elements)), elements)

    # Rule 3: when the first instruction starts.
    beats = -(-INSTRUCTION_BYTES // config.bus_bytes)
    first = latency + TRANSFER_OVERHEAD + (beats - 1) * interval + CHECK_STAGES + 1
    channels = workload.weight[0]
    held = channels if resident_operands(choices).all() else 1
    begin = len(epilogue.channel_operands) * load(MemoryId.ACC, held) + load(MemoryId.UOP, 1)
    parameters = 0
    if epilogue.requantise is not None and epilogue.requantise.resident:
        parameters = load(MemoryId.PAR, channels)
    before = epilogue.operand_passes
    stays = {each: choices.equals("order", each) for each in ORDERS}
    names = ("oc", "y", "x")
    numbers = (
        choices.equals("along", "y") + 2 * choices.equals("along", "x"),
        stays["weights"] + 2 * stays["image"],
        choices["threads"],
        choices["ic"],
        _image_loads(workload, choices),
        _one_product(workload, choices, config).astype(np.int64),
        _loops_fit(workload, choices, config).astype(np.int64),
    )
    windows = [
        (
            window.stride,
            window.before,
            (window.kernel - 1) * window.dilation + 1,
            window.extent,
        )
        for window in workload.windows
    ]
    found = np.zeros(len(choices), np.float64)
    threads = int(choices["threads"].max(initial=1))
    _simulate(
        found,
        np.ascontiguousarray(np.stack(numbers, axis=1), np.int64),
        np.ascontiguousarray(np.stack([choices[axis] for axis in names], axis=1)),
        np.ascontiguousarray(np.where(stays["image"][:, None], (1, 2, 0), (0, 1, 2))),
        np.array([extents[axis] for axis in names]),
        np.array(windows),
        np.array(
            [
                workload.data[0],
                extents["ic"],
                *workload.weight[2:4],
                int(not cost.overwrites),
                int(epilogue.requantise is not None),
                epilogue.immediate_passes + epilogue.input_operands - before.immediate_passes,
                epilogue.tensor_passes - before.tensor_passes,
                int(cost.alu(1, tensor_operand=True)),
                epilogue.element_operands,
                pipeline_depth(config),
                latency,
                interval,
                alone,
                first + begin,
                first + parameters,
                config.element_bytes(MemoryId.INP),
                config.element_bytes(MemoryId.WGT),
                config.element_bytes(MemoryId.OUT),
                config.bus_bytes,
                before.immediate_passes,
                before.tensor_passes,
            ]
        ),
        np.zeros((8, max(3, threads)), np.int64),
        np.zeros((threads, 3), np.int64),
        *np.zeros((2, threads, extents["oc"]), np.int64),
    )
    # Longer kernels are several instructions.
    kernels = np.maximum(workload.kernel_length(choices), choices["oc"])
    return np.where(kernels <= config.depth(MemoryId.UOP), found + _END, 0)


def _image_loads(workload: Conv2dWorkload, choices: Choices) -> Ints:
    """1 where each block of channels of a tile's part of the image is a LOAD of its own, else 0."""
    rows, columns = (
        np.minimum(workload.input_extent(axis, choices[name]), workload.data[2 + axis])
        for axis, name in enumerate(("y", "x"))
    )
    two = np.full_like(rows, 2)
    whole = (2, *workload.data[2:4])
    loads = transfers_of(MemoryId.INP, [(np.ones_like(rows), (two, rows, columns))], whole)
    # Rows with zeros beside them are adjacent neither to each other nor to the next block's.
    top, left, bottom, right = workload.padding
    padded = (choices["x"] >= workload.extents["x"]) & bool(left or right)
    padded &= (rows < workload.data[2]) | bool(top or bottom)
    return np.asarray((loads.instructions >= 2) | padded).astype(np.int64)


def _loops_fit(workload: Conv2dWorkload, choices: Choices, config: HardwareConfig) -> Bools:
    """Whether the loops over a tile fit the fields of both of an instruction's loops."""
    layout, columns = gemm_layout(config), workload.padded[1]
    fits = np.ones(len(choices), np.bool_)
    for way in ("in", "out"):
        for axis in ("oc", "y", "x"):
            fits &= choices[axis] <= layout[f"iter_{way}"].limits[1]
        fits &= choices["ic"] * workload.taps <= layout[f"wgt_factor_{way}"].limits[1]
        fits &= choices["y"] * choices["x"] <= layout[f"dst_factor_{way}"].limits[1]
        fits &= workload.strides[0] * columns <= layout[f"src_factor_{way}"].limits[1]
    return fits


def _one_product(workload: Conv2dWorkload, choices: Choices, config: HardwareConfig) -> Bools:
    """Whether requantised products of a tile are certainly one instruction: its loops have the
    blocks of output channels, as two of the other axes, fused or not, are no longer."""
    oc, y, x, ic = (choices[axis] for axis in ("oc", "y", "x", "ic"))
    tall, wide = workload.weight[2:4]
    pixels = np.maximum((y > oc) * 1 + (x > oc), y * x > oc)
    terms = np.maximum((ic > oc) * 1 + (tall > oc) + (wide > oc), ic * tall * wide > oc)
    fits = _loops_fit(workload, choices, config)
    return np.asarray(fits & (pixels + terms <= 1))


@compiled
def _simulate(
    found: Floats,
    numbers: Ints,
    sizes: Ints,
    orders: Ints,
    extents: Ints,
    windows: Ints,
    machine: Ints,
    scratch: Ints,
    tile: Ints,
    used: Ints,
    results: Ints,
) -> None:
    """The simulation: a loop over choices, groups of tiles, steps and threads.

    Where first products overwrite accumulators, they are instructions of their own, which read the
    first block of channels alone and start when that is loaded. So does the rest of that block's
    products if the loop over channels is one of the instruction's two; then the block's next LOAD
    may start when these end.
    """
    batches, depth, tall, wide, resets, early = machine[:6]
    taps = tall * wide
    single, double, double_cost, elements_in_acc = machine[6:10]
    pipeline, latency, interval, alone, compute_begin, load_begin = machine[10:16]
    inp_bytes, wgt_bytes, out_bytes, bus_bytes = machine[16:20]
    single_before, double_before = machine[20:22]
    at, counts = scratch[0], scratch[1]
    inputs = scratch[2]  # When a thread's last product ended.
    freed = scratch[3]  # When its last one of the first block did.
    ready = scratch[4]  # When a thread's operands were loaded.
    begins = scratch[5]  # When those of its first products were.
    image = scratch[6]  # Pixels of a thread's part of the image.
    by_block = scratch[7]  # Whether each of its blocks is a LOAD.
    for row in range(len(found)):
        along, kept_loops, threads, ic, image_loads, whole_tile, fits = numbers[row]
        size, loops = sizes[row], orders[row]
        steps = (depth + ic - 1) // ic
        for axis in range(3):
            counts[axis] = (extents[axis] + size[axis] - 1) // size[axis]
        counts[along] = (counts[along] + threads - 1) // threads
        groups = batches * counts[0] * counts[1] * counts[2]
        for thread in range(threads):
            inputs[thread] = freed[thread] = ready[thread] = begins[thread] = 0
            image[thread] = by_block[thread] = 0
            used[thread, :] = 0
            results[thread, :] = 0
            tile[thread, :] = 0
        compute, load, write, stored = compute_begin, load_begin, 0, 0
        previous = -1
        for group in range(groups):
            rest = group
            for position in range(2, -1, -1):
                axis = loops[position]
                at[axis] = rest % counts[axis]
                rest //= counts[axis]
            inner = 1
            for position in range(kept_loops, 3):
                inner *= counts[loops[position]]
            fresh = kept_loops > 0 and group // inner != previous
            previous = group // inner
            working = 0
            for thread in range(threads):
                pixels, lines, some = 1, 0, True
                for axis in range(3):
                    number = at[axis] * threads + thread if axis == along else at[axis]
                    begin = number * size[axis]
                    extent = min(size[axis], extents[axis] - begin)
                    some = some and extent > 0
                    tile[working, axis] = extent
                    if axis > 0:
                        stride, before, reach, whole = windows[axis - 1]
                        low = max(0, begin * stride - before)
                        high = (begin + extent - 1) * stride - before + reach
                        held = max(0, min(high, whole) - low)
                        pixels *= held
                        if axis == 1:
                            lines = held
                if some:
                    image[working] = pixels
                    # Blocks of one row each, as of a tile at the edge, are a LOAD's rows.
                    by_block[working] = image_loads if lines > 1 else 0
                    working += 1
            if fresh and kept_loops == 1:
                size_of = tile[0, 0] * depth * taps
                load = max(load, _latest_use(used, threads, tile[0, 0])) + alone
                load += max(size_of, (size_of * wgt_bytes + bus_bytes - 1) // bus_bytes * interval)
            elif fresh and image[0] > 0:
                size_of, calls = image[0], depth if by_block[0] else 1
                block = max(size_of, (size_of * inp_bytes + bus_bytes - 1) // bus_bytes * interval)
                size_of *= depth
                all_blocks = depth * block
                if not by_block[0]:
                    all_blocks = max(
                        size_of, (size_of * inp_bytes + bus_bytes - 1) // bus_bytes * interval
                    )
                load = max(load, _greatest(freed, threads)) + alone + block
                if depth > 1:
                    load = (
                        max(load, _greatest(inputs, threads))
                        + (calls - 1) * alone
                        + all_blocks
                        - block
                    )
            # Element-wise operands are loaded by compute, in front of a tile's products.
            for thread in range(working):
                volume = tile[thread, 0] * tile[thread, 1] * tile[thread, 2]
                beats = (volume * inp_bytes + bus_bytes - 1) // bus_bytes
                compute += elements_in_acc * (alone + beats * interval)
                compute += volume * (single_before + double_before * double_cost)
            for step in range(steps):
                blocks = min(ic, depth - step * ic)
                for thread in range(working):
                    if kept_loops != 1:
                        size_of = tile[thread, 0] * blocks * taps
                        # A shorter step has a LOAD for each block of output channels.
                        loads = tile[thread, 0] if blocks == min(ic, depth) else 1
                        load = max(load, _greatest(used[thread], loads)) + alone
                        load += max(
                            size_of,
                            (size_of * wgt_bytes + bus_bytes - 1) // bus_bytes * interval,
                        )
                    begins[thread] = load
                    if kept_loops != 2 and image[thread] > 0:
                        size_of, calls = image[thread], blocks if by_block[thread] else 1
                        block = max(
                            size_of,
                            (size_of * inp_bytes + bus_bytes - 1) // bus_bytes * interval,
                        )
                        size_of *= blocks
                        all_blocks = blocks * block
                        if not by_block[thread]:
                            all_blocks = max(
                                size_of,
                                (size_of * inp_bytes + bus_bytes - 1) // bus_bytes * interval,
                            )
                        load = max(load, freed[thread]) + alone + block
                        begins[thread] = load
                        if blocks > 1:
                            load = max(load, inputs[thread]) + (calls - 1) * alone
                            load += all_blocks - block
                    ready[thread] = load
                for thread in range(working):
                    parts, pixels = tile[thread, 0], tile[thread, 1] * tile[thread, 2]
                    # Requantised products of a block of channels may be an instruction of
                    # their own; all others are one for a tile.
                    alone_in_step = early and steps == 1 and not whole_tile
                    if step == 0 and not alone_in_step:
                        for part in range(parts):
                            compute = max(compute, results[thread, part])
                    if step == 0:
                        compute += parts * pixels * resets
                    # Two chains, of which the later one ends the products: all of them behind
                    # the first block's LOAD, and those that are not first behind all LOADs.
                    overwrites = step == 0 and not resets and blocks > 1
                    terms = blocks * taps
                    rest, rest_of = terms, max(compute, ready[thread])
                    compute = max(compute, begins[thread] if overwrites else rest_of)
                    # The instruction's two loops are the longest. Those over taps of a tile of
                    # one row or column may be fused with that over channels.
                    fused = blocks
                    if tile[thread, 1] == 1 or tall == 1:
                        fused *= taps if tile[thread, 2] == 1 or wide == 1 else tall
                    unrolls = fits and (
                        (tile[thread, 0] > fused)
                        + (tile[thread, 1] > fused)
                        + (tile[thread, 2] > fused)
                        > 1
                    )
                    if overwrites:
                        rest -= 1 if unrolls else taps
                    freed[thread] = compute + parts * pixels * (terms - rest) + pipeline
                    if step < steps - 1 or not early:
                        # Blocks of output channels may have instructions of their own.
                        for part in range(parts):
                            compute += pixels * terms
                            rest_of += pixels * rest
                            used[thread, part] = max(compute, rest_of) + pipeline
                        compute = max(compute, rest_of)
                        inputs[thread] = compute + pipeline
                        if not overwrites or (unrolls and taps > 1):
                            freed[thread] = inputs[thread]
                        continue
                    if whole_tile:
                        parts, pixels = 1, parts * pixels
                    for part in range(parts):
                        if alone_in_step:
                            free = results[thread, part] - pixels * resets
                            compute, rest_of = max(compute, free), max(rest_of, free)
                        compute += pixels * terms
                        rest_of += pixels * rest
                        end = max(compute, rest_of)
                        inputs[thread] = used[thread, part] = end + pipeline
                        write = max(write, end + pipeline + 1 + 4)
                        stores = tile[thread, 0] if whole_tile else 1
                        for number in range(stores):
                            written = (number + 1) * (pixels // stores) * out_bytes
                            beats = (written + bus_bytes - 1) // bus_bytes
                            stored = write + (beats - 1) * interval + latency + 1
                            results[thread, part + number] = stored
                        write += beats * interval
                    if whole_tile:
                        used[thread, : tile[thread, 0]] = inputs[thread]
                    compute = max(compute, rest_of)
                    if not overwrites or (unrolls and taps > 1):
                        freed[thread] = inputs[thread]
                    # A residual takes a pass, behind which results are stored.
                    compute += parts * pixels * (single + double * double_cost)
            if not early:
                for thread in range(working):
                    parts, pixels = tile[thread, 0], tile[thread, 1] * tile[thread, 2]
                    volume = parts * pixels
                    compute += volume * (single + double * double_cost)
                    write = max(write, compute + pipeline + 1 + 4)
                    # A tile with fewer blocks of channels waits for the STOREs of these alone.
                    for part in range(parts):
                        written = (part + 1) * pixels * out_bytes
                        beats = (written + bus_bytes - 1) // bus_bytes
                        stored = write + (beats - 1) * interval + latency + 1
                        results[thread, part] = stored
                    write += beats * interval
        found[row] = max(stored, compute + pipeline)


@inlined
def _greatest(values: Ints, count: int) -> int:
    """The greatest of the first `count` values, which are not negative."""
    found = 0
    for number in range(count):
        found = max(found, values[number])
    return found


@inlined
def _latest_use(used: Ints, threads: int, blocks: int) -> int:
    """When the last product of one of the first `blocks` blocks ended, in any thread."""
    found = 0
    for thread in range(threads):
        found = max(found, _greatest(used[thread], blocks))
    return found
