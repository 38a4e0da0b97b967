"""The simulation of the programs of a convolution's wide space, on decoupled units.

Every product is simulated, with the loads that it waits for: single cycles of pipelines and of the
bus's arbitration are not. No time is earlier where a stage takes longer, and compute never does
less than its own work: which is how bounds and limits leave out what cannot be the best.
"""

from __future__ import annotations

from tandem.base.jit import compiled
from tandem.compiler.plan.space import Floats, Ints

LONGEST = 2000
"""Maximum number of simulated products; a longer program is extrapolated at the same rate."""
HANDOVER = 8
"""Cycles from the end of an instruction to the start of one of another unit that waits for it."""
ROUNDING = 0.001
"""Cycles by which sums of the same times in another order may differ."""
_UNLIMITED = 1e300
"""A limit above this is none."""


@compiled
def simulate(
    found: Floats,
    numbers: Ints,
    durations: Ints,
    loading: Floats,
    rates: Floats,
    which: Ints,
    extra: Floats,
    limits: Floats,
    batches: int,
    height: int,
    width: int,
    overhead: int,
    image: Ints,
    weight: Ints,
    stored: Ints,
) -> None:
    """Writes the cycles of choices to `found`, which is infinite before: a loop over choices,
    tiles, steps and parts.

    Parameters
    ----------
    numbers
        What a choice is to the simulation, [choices, 20]; of columns the loop's first lines say
        the names.
    durations
        As in `TileCycles`, [tiles, 8, 2, 2].
    loading, rates
        Cycles of the bus that no choice is below, [choices]; `TileCycles.rates`, [tiles].
    which
        The tile of each choice.
    extra
        Cycles to add to what each choice takes, [choices].
    limits
        One number. If it is finite, cycles above it stay infinite, and it becomes the least of
        those that are found.
    batches, height, width
        Images, and their rows and columns.
    overhead
        Cycles of a LOAD or STORE, not counting its data.
    image, weight, stored
        Memory of the simulation: two numbers for each slot, and one for each part of its sums.
    """
    # Of each slot, the cycle in which it is free, and the box of data in it.
    image_free, image_box = image[0], image[1]
    weight_free, weight_box = weight[0], weight[1]
    bounded = limits[0] < _UNLIMITED
    for choice in range(len(found)):
        if bounded and loading[choice] + extra[choice] > limits[0]:
            continue
        row = which[choice]
        begin, steps, parts, channels, y, x, outputs = numbers[choice, :7]
        image_slots, weight_slots, sum_slots = numbers[choice, 7:10]
        keeps_image, keeps_weights, of_weights, behind, rows, operands = numbers[choice, 10:16]
        groups = channels // numbers[choice, 16]
        parameters, product_fetch, first_fetch = numbers[choice, 17:20]
        down, across = (height + y - 1) // y, (width + x - 1) // x
        pixels = down * across
        tiles = batches * channels * pixels
        total = batches * channels * height * width
        most = max(4, LONGEST // (steps * rows * parts))
        # An operand that stays for the tiles of the inner loop is loaded again after them.
        again = tiles
        if outputs and keeps_weights:
            again = pixels
        elif keeps_image and not outputs:
            again = channels
        middle, first, first_volume = most // 2, 0, 0
        reloads = 0
        if most < tiles and again < tiles:
            if 2 * again <= most:
                most -= most % again
                middle = most // again // 2 * again
            else:
                most = min(most, again)
                middle, reloads = most // 2, tiles // again - 1
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
        passed = half = half_volume = volume = 0
        within = True
        # Tiles that are whole along both axes, along y, along x, and along neither.
        both = tall = wide = neither = 0
        for tile in range(min(tiles, most)):
            batch, rest = tile // (channels * pixels), tile % (channels * pixels)
            if outputs:
                channel, pixel = rest // pixels, rest % pixels
            else:
                channel, pixel = rest % channels, rest // channels
            a = int(pixel // across < down - 1)
            b = int(pixel % across < across - 1)
            both += a * b
            tall += a * (1 - b)
            wide += (1 - a) * b
            neither += (1 - a) * (1 - b)
            accumulators = tile % sum_slots
            residual = durations[row, 4, a, b]
            if parameters > 0:
                # A tile's parameters are loaded before its weights, over those of the tile before.
                load = max(load, passed) + parameters
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
                    # Instructions come before loads on the bus.
                    load += product_fetch
                    if step == 0 and product < parts:
                        load += first_fetch
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
                    compute = max(compute, ready + HANDOVER) + durations[row, 2, a, b]
                    weight_free[at] = compute + HANDOVER
                    if residual == 0 and step == steps - 1 and product >= (rows - 1) * parts:
                        compute += operands + durations[row, 3, a, b]
                        operands = 0
                        store = max(store, compute + HANDOVER)
                        load += durations[row, 6, a, b]
                        if durations[row, 7, a, b] > 0:
                            load = max(load, store + durations[row, 7, a, b])
                        store += durations[row, 5, a, b]
                        stored[accumulators, part] = store + overhead
                image_free[slot] = compute + HANDOVER
            if residual > 0:
                # A tile's residual is loaded behind its last weights, over that of the tile before.
                load = max(load, passed) + residual
                compute = max(compute, load + HANDOVER)
                load += parts * durations[row, 6, a, b]
                for part in range(parts):
                    compute += operands + durations[row, 3, a, b]
                    operands = 0
                    store = max(store, compute + HANDOVER)
                    if durations[row, 7, a, b] > 0:
                        load = max(load, store + durations[row, 7, a, b])
                    store += durations[row, 5, a, b]
                    stored[accumulators, part] = store + overhead
            passed = compute + HANDOVER
            volume += (y if a else height - (down - 1) * y) * (x if b else width - (across - 1) * x)
            if tile == 0:
                first, first_volume = compute - begin, volume
            if tile == middle - 1:
                half, half_volume = compute, volume
            least = compute + rates[row] * (total - volume) + overhead - ROUNDING + extra[choice]
            if bounded and least > limits[0]:
                within = False
                break
        if not within:
            continue
        end = float(compute)
        if volume < total:
            # Extrapolate at the rate of the second half of the simulated tiles, or at that of the
            # longer one of loads and arithmetic: tiles at the edge may not be among the simulated.
            rate = (compute - half) / max(1, volume - half_volume)
            end += reloads * max(0.0, first - rate * first_volume)
            whole = batches * channels
            for kind in range(4):
                a, b = kind // 2, kind % 2
                if kind == 3:
                    left = whole * (down - 1) * (across - 1) - both
                elif kind == 2:
                    left = whole * (down - 1) - tall
                elif kind == 1:
                    left = whole * (across - 1) - wide
                else:
                    left = whole - neither
                size = y if a else height - (down - 1) * y
                size *= x if b else width - (across - 1) * x
                loads = durations[row, 4, a, b] + parameters
                loads += parts * (durations[row, 6, a, b] + first_fetch)
                loads += steps * rows * parts * product_fetch
                if not keeps_image:
                    loads += steps * durations[row, 0, a, b]
                if not keeps_weights:
                    loads += steps * rows * parts * of_weights
                work = steps * rows * durations[row, 2, a, b] + durations[row, 1, a, b]
                work = parts * (work + durations[row, 3, a, b])
                end += left * max(rate * size, float(max(loads, work)))
        end = max(loading[choice], end + max(0, store - compute) + overhead) + extra[choice]
        if not bounded or end <= limits[0]:
            found[choice] = end
        if bounded:
            limits[0] = min(limits[0], end)
