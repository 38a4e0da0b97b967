"""What choices of a product cost, in estimated cycles, and what no program goes below."""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple

import numpy as np

from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.sketches.counts import ProductCounts
from tandem.compiler.machines.accelerator.sketches.schedules import IMAGE, PART, WEIGHT
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.work_counts import kernel_length
from tandem.compiler.plan.space import Bools, Floats, Ints
from tandem.hw.topology import MemoryId

_WAITED: Final = 0.02
"""What a cycle of waiting for a place costs, although the array has other work then."""
_BESIDE: Final = 0.5
"""Estimated cycles of an instruction of products, beside its micro-ops."""
IN_CYCLES: Final = ("array", "bus", "busy", "paced", "first", "last", "estimate")
"""The columns that are cycles."""


def _passes(counts: ProductCounts, cost: MachineCost) -> Ints:
    """Cycles of a tile's passes, and of its resets."""
    size = counts.size
    passes: Ints = size * (not cost.overwrites)
    for step in counts.product.passes:
        if step.intrinsic is None:
            passes = passes + cost.load(MemoryId.ACC_8BIT, size)
        elif not step.leaves:
            passes = passes + cost.alu(size, tensor_operand=bool(step.inputs))
    return passes


class _Loads(NamedTuple):
    """The LOADs of an operand.

    Attributes
    ----------
    times, one
        How many there are, and the cycles of one.
    places
        The slots, or threads, that they take in turn.
    tiles, of_tile
        The tiles that find nothing of the operand on chip, and the cycles of a tile's LOADs.
    """

    times: Floats
    one: Floats
    places: Floats
    tiles: Floats
    of_tile: Floats


def _loads(counts: ProductCounts, cost: MachineCost, operand: str) -> _Loads:
    load, times = counts.loads(operand), counts.repeats(operand)
    width = cost.beats(load.memory, np.ceil(load.elements).astype(np.int64))
    one = load.instructions * cost.overhead + np.maximum(width, load.elements)
    of_tile = np.minimum(counts.of_tile(operand), times)
    found = times, one, counts.slots[operand], times / of_tile, of_tile * one
    return _Loads(*(np.asarray(each, np.float64) for each in found))


def columns(counts: ProductCounts, cost: MachineCost) -> dict[str, Floats]:
    """Numbers that tell what a choice costs, the same for both schedules; the last one is
    `estimate`, cycles, infinite where the micro-ops do not stay on chip."""
    tiles = np.asarray(prod(counts.tiles.values()), np.float64)
    passes = np.asarray(_passes(counts, cost), np.float64)
    stored = cost.beats(MemoryId.OUT, counts.size) + cost.overhead
    image, weight = (_loads(counts, cost, each) for each in (IMAGE, WEIGHT))
    instructions = tiles * counts.products_of_tile
    array = counts.products + tiles * passes + _BESIDE * instructions
    bus = image.times * image.one + weight.times * weight.one + instructions * cost.fetch
    # A place is taken from the begin of its load to the end of its products.
    paced = np.maximum(
        *((each.times * each.one + counts.products) / each.places for each in (image, weight))
    )
    first = sum(
        np.where(counts.stays(operand), 0, loads.one)
        for operand, loads in ((IMAGE, image), (WEIGHT, weight))
    )
    if counts.slotted:
        last = (passes + stored) * counts.choices[PART] / counts.tile[counts.part_axis]
        idle = np.where(counts.choices["sum_slots"] == 1, tiles * passes, 0)
    else:
        last = passes + stored
        idle = np.where(counts.threads == 1, tiles * (passes + stored), 0)
    busy = _busy(counts, tiles, array, image, weight)
    # The less a place is waited for, the better.
    total = np.maximum(np.maximum(busy, bus), paced + idle) + first + last + _WAITED * paced
    found = {
        "image_loads": image.times,
        "image_load": image.one,
        "image_places": image.places,
        "weight_loads": weight.times,
        "weight_load": weight.one,
        "weight_places": weight.places,
        "tiles": tiles,
        "size": counts.size,
        "products": instructions,
        "slotted": np.asarray(counts.slotted),
        "threads": counts.threads,
        "array": array,
        "bus": bus,
        "busy": busy,
        "paced": paced,
        "first": first,
        "last": last,
        "estimate": np.where(_kernels_stay(counts, cost), total, np.inf),
    }
    every = np.ones(len(counts.choices))
    return {name: np.asarray(column, np.float64) * every for name, column in found.items()}


def _busy(
    counts: ProductCounts, tiles: Floats, array: Floats, image: _Loads, weight: _Loads
) -> Floats:
    """Cycles of tiles, of which each takes what its products take, or its LOADs: a tile that loads
    both operands, one of them or none."""
    of_tile = array / tiles
    both = np.minimum(image.tiles, weight.tiles)
    found = both * np.maximum(of_tile, image.of_tile + weight.of_tile)
    for loads in (image, weight):
        found = found + (loads.tiles - both) * np.maximum(of_tile, loads.of_tile)
    found = found + np.maximum(0, tiles - image.tiles - weight.tiles + both) * of_tile
    if not counts.slotted:
        return np.asarray(found)
    # While a part of the image is loaded, the array has the products of weights on chip.
    has = counts.products / weight.times * weight.places
    return np.asarray(found + np.maximum(0, image.one + weight.one - has) * image.times)


def _kernels_stay(counts: ProductCounts, cost: MachineCost) -> Bools:
    """Whether the micro-ops of all threads stay on chip."""
    sizes = {**counts.tile, **counts.step}
    if counts.slotted:
        sizes[counts.part_axis] = counts.choices[PART]
    kernel = kernel_length(*sizes.values())
    return counts.threads * (kernel + 4) <= cost.config.depth(MemoryId.UOP)


def bound(counts: ProductCounts, cost: MachineCost) -> Floats:
    """Cycles that no program goes below: its products, and the result's bytes, with a latency
    to begin and one to end."""
    result = prod(counts.product.axes.values()) * prod(
        counts.product.extents[axis] for axis in counts.product.accumulator
    )
    stored = result * INT8.bits // 8 // cost.config.bus_bytes * cost.memory.interval
    least = max(counts.products, stored) + 2 * cost.memory.latency
    return np.full(len(counts.choices), float(least))
