"""A simulation of a convolution's tiles on the decoupled units load, compute and store.

All stages of a tile are simulated in program order, with the dependences that tokens express; how
long each one is, its tables say (`tile_stages`). All rules are sums and maxima of times: with
shorter stages and fewer dependences no time is later, which is what makes bounds of estimates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tandem.base.jit import compiled, inlined
from tandem.compiler.machines.accelerator.templates.conv2d_tiled import ORDERS
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.tile_stages import (
    AXES,
    StageCosts,
    TileCosts,
    ends,
)
from tandem.compiler.plan.space import Choices, Floats, Ints
from tandem.hw.topology import MemoryId


class _Layer(NamedTuple):
    """What a workload and a machine are to the simulation."""

    batches: int
    depth: int
    groups: int
    tall: int
    wide: int
    resets: int
    early: int
    interval: int
    bus_shift: int
    inp_bytes: int
    wgt_bytes: int
    out_bytes: int


class _Space(NamedTuple):
    """Choices, what each of them is to the simulation, and its memory."""

    numbers: Ints
    sizes: Ints
    orders: Ints
    tables: Ints
    extents: Ints
    windows: Ints
    scratch: Ints
    tile: Ints
    used: Ints
    results: Ints


def simulated(
    workload: Conv2dWorkload,
    choices: Choices,
    cost: MachineCost,
    stages: StageCosts,
    tiles: TileCosts,
) -> Floats:
    """Cycles of choices from launch to done, by simulation of all stages in program order."""
    count, extents, config = len(choices), workload.extents, cost.config
    threads = int(choices["threads"].max(initial=1))
    stays = choices.equals("order", "weights") + 2 * choices.equals("order", "image")
    loops = np.array([[AXES.index(axis) for axis in ORDERS[name]] for name in ("weights", "image")])
    spanned = (workload.spanned_groups(oc) for oc in ends(workload, choices)[0][:, :, 0, 0].T)
    numbers = (
        choices.equals("along", "y") + 2 * choices.equals("along", "x"),
        stays,
        choices["threads"],
        choices["ic"],
        *spanned,
        *tiles.begin,
        tiles.image_loads,
        tiles.whole_tile,
        tiles.fits,
    )
    tables = (tiles.operands, tiles.before, tiles.passes, tiles.after)
    layer = _Layer(
        batches=workload.data[0],
        depth=extents["ic"],
        groups=workload.groups,
        tall=workload.weight[2],
        wide=workload.weight[3],
        resets=int(not cost.overwrites),
        early=int(workload.epilogue.requantise is not None),
        interval=cost.memory.interval,
        bus_shift=config.bus_bytes.bit_length() - 1,
        inp_bytes=cost.element_bytes(MemoryId.INP),
        wgt_bytes=cost.element_bytes(MemoryId.WGT),
        out_bytes=cost.element_bytes(MemoryId.OUT),
    )
    # Kernels of 1x1 skip the rows between strides; those are held by no tile.
    strides = (1 if workload.taps == 1 and not stages.fine else workload.strides[0],)
    windows = [
        (stride, window.before, (window.kernel - 1) * window.dilation + 1, window.extent)
        for window, stride in zip(workload.windows, (*strides, workload.strides[1]), strict=True)
    ]
    found = np.zeros(count, np.float64)
    space = _Space(
        _stacked((count,), *numbers),
        np.ascontiguousarray(np.stack([choices[axis] for axis in AXES], axis=1)),
        np.ascontiguousarray(loops[stays // 2]),
        _stacked((count, 2, 2, 2), *tables).reshape(count, len(tables), 8),
        np.array([extents[axis] for axis in AXES]),
        np.array(windows),
        np.zeros((20, max(3, threads)), np.int64),
        np.zeros((threads, 3), np.int64),
        *np.zeros((2, threads, extents["oc"]), np.int64),
    )
    (_bound if stages.fine else _estimate)(found, space, layer, stages)
    return found


def _stacked(shape: tuple[int, ...], *arrays: Ints | int) -> Ints:
    whole = np.stack([np.broadcast_to(each, shape) for each in arrays], axis=1)
    return np.ascontiguousarray(whole, np.int64)


@compiled
def _estimate(found: Floats, space: _Space, layer: _Layer, stages: StageCosts) -> None:
    _simulate(found, space, layer, stages, False)


@compiled
def _bound(found: Floats, space: _Space, layer: _Layer, stages: StageCosts) -> None:
    _simulate(found, space, layer, stages, True)


@inlined
def _simulate(found: Floats, space: _Space, layer: _Layer, stages: StageCosts, fine: bool) -> None:
    """The simulation: a loop over choices, groups of tiles, steps and threads.

    Where first products overwrite accumulators, they are instructions of their own, which read the
    first block of channels alone and start when that is loaded. So does the rest of that block's
    products if the loop over channels is one of the instruction's two; then the block's next LOAD
    may start when these end.

    `fine` is a literal in each caller, so that either has machine code of its own.
    """
    numbers, sizes, orders, tables, extents, windows, scratch, tile, used, results = space
    taps, behind = layer.tall * layer.wide, stages.behind_products
    at, counts = scratch[0], scratch[1]
    inputs, freed = scratch[2], scratch[3]  # When a thread's last product ended; of block 0.
    ready, begins = scratch[4], scratch[5]  # When its operands, its first products', were loaded.
    image = scratch[6]  # Pixels of a thread's part of the image.
    first = scratch[7]  # Cycles of one block of these.
    by_block, volume = scratch[8], scratch[9]  # Whether each of its blocks is a LOAD; products.
    wanted = scratch[10]  # When the operands of its passes were loaded.
    passed = scratch[11]  # When its last pass ended.
    weights = scratch[12:14]  # Cycles of its weights' data: of a step, and of the last one.
    others = scratch[14:16]  # Cycles of its image's blocks behind the first one, likewise.
    several = scratch[16:18]  # Whether there are such blocks, likewise.
    which, corner = scratch[18], scratch[19]  # Its sizes in `tables`; where a tile begins.
    for row in range(len(found)):
        along, kept_loops, threads, ic = numbers[row, :4]
        image_loads, fits = numbers[row, 8], numbers[row, 10]
        whole_tile = fine and numbers[row, 9] > 0
        size, loops = sizes[row], orders[row]
        steps = (layer.depth + ic - 1) // ic
        for axis in range(3):
            counts[axis] = (extents[axis] + size[axis] - 1) // size[axis]
        counts[along] = (counts[along] + threads - 1) // threads
        groups = layer.batches * counts[0] * counts[1] * counts[2]
        most = max(4, stages.longest // (steps * threads))
        for number in range(2, len(scratch)):
            scratch[number, :] = 0
        which[:] = -1
        for thread in range(threads):
            used[thread, :] = 0
            results[thread, :] = 0
        compute, load, write, previous = numbers[row, 6], numbers[row, 7], 0, -1
        simulated_volume = half_volume = half_compute = 0
        for group in range(min(groups, most)):
            rest = group
            for position in range(2, -1, -1):
                axis = loops[position]
                at[axis] = rest % counts[axis]
                rest //= counts[axis]
            # An operand that stays on chip serves all iterations of the inner loops.
            inner = 1
            for position in range(kept_loops, 3):
                inner *= counts[loops[position]]
            fresh = kept_loops > 0 and group // inner != previous
            previous = group // inner
            working = 0
            for thread in range(threads):
                elements, sizes_are = 1, 0
                for axis in range(3):
                    at_thread = at[axis] * threads + thread if axis == along else at[axis]
                    corner[axis] = at_thread * size[axis]
                    tile[working, axis] = min(size[axis], extents[axis] - corner[axis])
                    sizes_are = 2 * sizes_are + int(tile[working, axis] == size[axis])
                    elements *= max(0, tile[working, axis])
                # Estimates of a tile depend on its sizes alone, bounds on its place as well.
                if elements > 0 and (fine or which[working] != sizes_are):
                    which[working], volume[working] = sizes_are, elements
                    pixels, area, lines = 1, 1, 0
                    for axis in range(1, 3):
                        stride, before, reach, inside = windows[axis - 1]
                        extent = (tile[working, axis] - 1) * stride + reach
                        held = min(extent, inside)
                        if fine:
                            low = corner[axis] * stride - before
                            held = max(0, min(low + extent, inside) - max(0, low))
                        area, pixels = area * extent, pixels * held
                        lines = held if axis == 1 else lines
                    image[working] = pixels
                    # What one block of it takes: padding is written, too.
                    first[working] = _moved(pixels, layer.inp_bytes, layer)
                    first[working] += 0 if fine else max(0, area - pixels)
                    # Blocks of one row each, as of a tile at the edge, are a LOAD's rows.
                    by_block[working] = image_loads if lines > 1 or not fine else 0
                    spanned = numbers[row, 4 + sizes_are // 4]
                    for final in range(2):
                        blocks = layer.depth - (steps - 1) * ic if final else min(ic, layer.depth)
                        kernels, read = tile[working, 0] * blocks * taps, blocks * spanned
                        several[final, working] = read > 1
                        weights[final, working] = _moved(kernels, layer.wgt_bytes, layer)
                        others[final, working] = _next_blocks(
                            first[working], read, pixels, by_block[working], layer, stages
                        )
                working += int(elements > 0)
            # A new operand that stays is loaded after the last use of the old one in any thread.
            if fresh and kept_loops == 1:
                load = max(load, _latest_use(used, threads, tile[0, 0])) + stages.load
                load += _moved(tile[0, 0] * layer.depth * taps, layer.wgt_bytes, layer)
            elif fresh and image[0] > 0:
                load = max(load, _greatest(freed, threads)) + stages.load + first[0]
                blocks = layer.depth * layer.groups
                if blocks > 1:
                    load = max(load, _greatest(inputs, threads))
                    load += _next_blocks(first[0], blocks, image[0], by_block[0], layer, stages)
            for thread in range(working):
                compute += tables[row, 1, which[thread]]
            for step in range(steps):
                blocks, final = min(ic, layer.depth - step * ic), int(step == steps - 1)
                for thread in range(working):
                    if kept_loops != 1:
                        # A shorter step has a LOAD for each block of output channels.
                        loads = tile[thread, 0] if fine and blocks == min(ic, layer.depth) else 1
                        load = max(load, _greatest(used[thread], loads)) + stages.load
                        load += weights[final, thread]
                    begins[thread] = load
                    if kept_loops != 2 and image[thread] > 0:
                        load = max(load, freed[thread]) + stages.load + first[thread]
                        begins[thread] = load
                        if several[final, thread] > 0:
                            load = max(load, inputs[thread]) + others[final, thread]
                    ready[thread] = load
                for thread in range(working):
                    # What is loaded for a tile's passes follows the loads of its last step.
                    wanted[thread] = 0
                    if step == steps - 1 and tables[row, 0, which[thread]] > 0:
                        load = max(load, passed[thread]) + tables[row, 0, which[thread]]
                        wanted[thread] = load
                for thread in range(working):
                    run = tile[thread, 1] * tile[thread, 2]
                    parts = tile[thread, 0] if fine else 1
                    pixels = run if fine else volume[thread]
                    # Requantised products of a block of channels may be an instruction of
                    # their own; all others are one for a tile.
                    alone_in_step = fine and layer.early and steps == 1 and not whole_tile
                    if step == 0 and not alone_in_step:
                        compute = max(compute, _greatest(results[thread], parts))
                    if step == 0:
                        compute += parts * pixels * layer.resets
                    # Two chains, of which the later one ends the products: all of them behind
                    # the first block's LOAD, and those that are not first behind all LOADs.
                    overwrites = fine and step == 0 and not layer.resets and blocks > 1
                    terms = blocks * taps
                    rest, rest_of = terms, max(compute, ready[thread])
                    compute = max(compute, begins[thread] if overwrites else rest_of)
                    unrolls = False
                    if overwrites:
                        unrolls = fits > 0 and _unrolls(tile[thread], blocks, layer)
                        rest -= 1 if unrolls else taps
                    freed[thread] = compute + parts * pixels * (terms - rest) + behind
                    if step < steps - 1 or not layer.early:
                        # Blocks of output channels may have instructions of their own.
                        for part in range(parts):
                            compute += pixels * terms
                            rest_of += pixels * rest
                            used[thread, part] = max(compute, rest_of) + behind
                        compute = max(compute, rest_of)
                        inputs[thread] = compute + behind
                    else:
                        stores = tile[thread, 0] if whole_tile else 1
                        awaited = 1 if fine else tile[thread, 0]
                        if whole_tile:
                            parts, pixels = 1, parts * pixels
                        end = compute
                        for part in range(parts):
                            if alone_in_step:
                                free = results[thread, part] - pixels * layer.resets
                                compute, rest_of = max(compute, free), max(rest_of, free)
                            compute += pixels * terms
                            rest_of += pixels * rest
                            end = max(compute, rest_of)
                            inputs[thread] = used[thread, part] = end + behind
                            end = max(end, wanted[thread]) + tables[row, 2, which[thread]]
                            write = max(write, end + stages.behind_results)
                            for number in range(stores):
                                busy = _busy((number + 1) * awaited, run, layer, stages, fine)
                                results[thread, part + number] = write + busy + stages.acknowledged
                            write += _busy(stores * awaited, run, layer, stages, fine)
                        if whole_tile:
                            used[thread, : tile[thread, 0]] = inputs[thread]
                        passed[thread] = end
                        compute = end + tables[row, 3, which[thread]]
                    if not overwrites or (unrolls and taps > 1):
                        freed[thread] = inputs[thread]
            for thread in range(working):
                if not layer.early:
                    run = tile[thread, 1] * tile[thread, 2]
                    compute = max(compute, wanted[thread]) + tables[row, 2, which[thread]]
                    passed[thread] = compute
                    write = max(write, compute + stages.behind_results)
                    # A tile with fewer blocks of channels waits for the STOREs of these alone.
                    stores = tile[thread, 0] if fine else 1
                    awaited = 1 if fine else tile[thread, 0]
                    for number in range(stores):
                        busy = _busy((number + 1) * awaited, run, layer, stages, fine)
                        results[thread, number] = write + busy + stages.acknowledged
                    write += _busy(stores * awaited, run, layer, stages, fine)
                simulated_volume += volume[thread]
            if group == most // 2 - 1:
                half_volume, half_compute = simulated_volume, compute
        last = float(compute)
        total = layer.batches * extents[0] * extents[1] * extents[2]
        if simulated_volume < total:
            # Extrapolate at the rate of the second half of the simulated steps.
            pace = (compute - half_compute) / max(1, simulated_volume - half_volume)
            last += pace * (total - simulated_volume)
        late = write + stages.acknowledged - stages.last
        found[row] = last + max(0, late - compute) + stages.last


@inlined
def _unrolls(tile: Ints, blocks: int, layer: _Layer) -> bool:
    """Whether the loop over channels is none of a product's two longest loops, which those of the
    instruction are. The loops over taps of a tile of one row or column may be fused with it."""
    fused = blocks
    if tile[1] == 1 or layer.tall == 1:
        fused *= layer.tall
        if tile[2] == 1 or layer.wide == 1:
            fused *= layer.wide
    return int(tile[0] > fused) + int(tile[1] > fused) + int(tile[2] > fused) > 1


@inlined
def _moved(elements: int, size: int, layer: _Layer) -> int:
    """Cycles of the data of a LOAD, which writes at most one element per cycle."""
    beats = (elements * size + (1 << layer.bus_shift) - 1) >> layer.bus_shift
    return max(elements, beats * layer.interval)


@inlined
def _next_blocks(
    block: int, blocks: int, pixels: int, by_block: int, layer: _Layer, stages: StageCosts
) -> int:
    """Cycles of the LOADs of all blocks of a part of the image behind the first one's, which takes
    `block`."""
    found = (blocks - 1) * (stages.load + block)
    if not by_block:
        found = _moved(pixels * blocks, layer.inp_bytes, layer) - block
    return found


@inlined
def _busy(blocks: int, run: int, layer: _Layer, stages: StageCosts, fine: bool) -> int:
    """Cycles of the STOREs of blocks of `run` pixels; in lower bounds they follow without gaps."""
    if fine:
        blocks, run = 1, blocks * run
    beats = (run * layer.out_bytes + (1 << layer.bus_shift) - 1) >> layer.bus_shift
    return blocks * (stages.store + beats * layer.interval)


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
