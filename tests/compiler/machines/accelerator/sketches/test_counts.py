"""What choices of products take and load: what programs allocate, and walks over all tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product as combinations
from math import prod
from typing import Any

import numpy as np
import pytest

from tandem.compiler.lower.lowering import lower
from tandem.compiler.machines.accelerator.lower.programs import accelerator_passes
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.counts import ProductCounts
from tandem.compiler.machines.accelerator.sketches.product import ArrayProduct
from tandem.compiler.machines.accelerator.sketches.schedules import (
    IMAGE,
    WEIGHT,
    orders,
    slotted,
    tiled,
)
from tandem.compiler.machines.accelerator.sketches.spaces import (
    settings,
    slotted_space,
    tiled_space,
)
from tandem.compiler.plan.space import Choices
from tandem.hw.topology import MemoryId
from tests.compiler.machines.accelerator.templates.live_elements import live_elements
from tests.support.compiler.machines.accelerator.sketches.small_products import (
    TINY,
    matrices,
    product,
    windows,
)

WINDOWS = product(windows())
"""4 blocks of 3 rows and 5 columns; sums over 3 blocks in windows of 2 x 3."""
STRIDED = product(windows(stride=2, blocks=2, skip=True))
STACKS = product(matrices(stacks=2, passes=True))
"""Two stacks of 6 rows and 4 blocks of columns; sums over 6 blocks."""
PRODUCTS = {"windows": WINDOWS, "strided": STRIDED, "stacks": STACKS}
ROOMY = AcceleratorTarget.of(
    TINY.config.replace(log_inp_buffer=12, log_wgt_buffer=14, log_acc_buffer=14)
)


def some(of: ArrayProduct, count: int, seed: int) -> tuple[Choices, Choices]:
    """Choices of both schedules."""
    rng, (of_tiles, of_slots) = np.random.default_rng(seed), spaces(of)
    rows = (rng.permutation(len(each))[:count] for each in (of_tiles, of_slots))
    return of_tiles.where(next(rows)), of_slots.where(next(rows))


def spaces(of: ArrayProduct) -> tuple[Choices, Choices]:
    assert of.weight_axis is not None
    return tiled_space(of).choices(), slotted_space(of, of.weight_axis).choices()


# On chip --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRODUCTS)
def test_usage_is_what_programs_allocate(name: str) -> None:
    of = PRODUCTS[name]
    for choices, slots in zip(some(of, 2, 1), (False, True), strict=True):
        counts = ProductCounts(of, choices)
        found = counts.usage()
        for row in range(len(choices)):
            choice = choices.choice(row)
            if slots:
                assert of.weight_axis is not None
                trace, choice = slotted(of, of.weight_axis), settings(of, of.weight_axis, choice)
            else:
                trace = tiled(of)
            program = of.start.replay(trace, choice).program
            lowered = lower(program, accelerator_passes(ROOMY))
            wanted = live_elements(lowered.body, ROOMY)
            assert {at: int(each[row]) for at, each in found.items()} == wanted, choice


# Loads ----------------------------------------------------------------------------------------


def spans(of: ArrayProduct, choice: Mapping[str, Any], axis: str) -> list[range]:
    extent, size = of.extents[axis], choice.get(axis, of.extents[axis])
    return [range(at, min(at + size, extent)) for at in range(0, extent, size)]


def tiles(
    of: ArrayProduct, choice: Mapping[str, Any], order: tuple[str, ...]
) -> Iterator[dict[str, int]]:
    """The numbers of tiles along each axis, in the order of loops."""
    for numbers in combinations(*(range(len(spans(of, choice, axis))) for axis in order)):
        yield dict(zip(order, numbers, strict=True))


def axes_of(of: ArrayProduct, operand: str) -> tuple[str, ...]:
    return of.of_image if operand == IMAGE else of.of_weight


def walked(of: ArrayProduct, choice: Mapping[str, Any], operand: str) -> int:
    """LOADs of a tiled choice: at every step of each tile, or for groups of tiles in the loops
    around an operand that stays."""
    order = orders(of)[choice["stays"]]
    steps = len(spans(of, choice, of.steps))
    if choice["stays"] != operand:
        return steps * len([*tiles(of, choice, order)])
    inside = [number for number, axis in enumerate(order) if axis in axes_of(of, operand)]
    outside = order[: inside[-1] + 1]
    groups = {
        tuple(
            tile[axis] // choice["threads"] if axis == choice["along"] else tile[axis]
            for axis in outside
        )
        for tile in tiles(of, choice, order)
    }
    return len(groups)


@pytest.mark.parametrize("name", PRODUCTS)
def test_loads_of_tiles(name: str) -> None:
    of = PRODUCTS[name]
    choices, _ = some(of, 80, 2)
    counts = ProductCounts(of, choices)
    for operand in (IMAGE, WEIGHT):
        wanted = [walked(of, choices.choice(row), operand) for row in range(len(choices))]
        assert counts.repeats(operand).tolist() == wanted
        stays = choices.equals("stays", operand)
        assert counts.stays(operand).tolist() == stays.tolist()
        steps = -(-of.extents[of.steps] // choices[of.steps])
        assert counts.of_tile(operand).tolist() == np.where(stays, 1, steps).tolist()
        # One place where it stays, for all threads.
        assert counts.slots[operand].tolist() == np.where(stays, 1, choices["threads"]).tolist()


def ring(of: ArrayProduct, choice: Mapping[str, Any], operand: str) -> tuple[int, int]:
    """LOADs into slots in turn, but of what its slot has; and those of a tile by itself."""
    order = orders(of)[WEIGHT if choice["order"] == "outputs" else IMAGE]
    steps = range(len(spans(of, choice, of.steps)))
    size = min(choice.get(str(of.weight_axis), 99), of.extents[str(of.weight_axis)])
    rows = [range(len(spans(of, choice, tap))) for tap in of.taps[:1]]
    parts = range(-(-size // choice["part"]))
    every = [*combinations(steps, *rows, parts)] if operand == WEIGHT else [(at,) for at in steps]
    slots = choice["image_slots" if operand == IMAGE else "weight_slots"] or len(every)
    held: dict[int, object] = {}
    number = loads = 0
    for tile in tiles(of, choice, order):
        for one in every:
            box = tuple(at for axis, at in tile.items() if axis in axes_of(of, operand)), one
            loads += held.get(number % slots) != box
            held[number % slots] = box
            number += 1
    return loads, len(every)


@pytest.mark.parametrize("name", PRODUCTS)
def test_loads_into_slots(name: str) -> None:
    of = PRODUCTS[name]
    _, choices = some(of, 150, 3)
    counts = ProductCounts(of, choices)
    for operand in (IMAGE, WEIGHT):
        found = [ring(of, choices.choice(row), operand) for row in range(len(choices))]
        assert counts.repeats(operand).tolist() == [loads for loads, _ in found]
        assert counts.of_tile(operand).tolist() == [of_tile for _, of_tile in found]
        assert not counts.stays(operand).any()
    assert counts.products_of_tile.tolist() == counts.of_tile(WEIGHT).tolist()
    with_all = np.where(choices["weight_slots"] == 0, counts.of_tile(WEIGHT), 0)
    assert counts.slots[WEIGHT].tolist() == np.maximum(choices["weight_slots"], with_all).tolist()


def box_of_windows(choice: Mapping[str, Any], operand: str, stride: int, blocks: int) -> int:
    """Elements of a LOAD for the first tile of `windows`, by the indices that it reads."""
    sizes = {"o": blocks, "y": 3, "x": 5, "c": 3, "k": 2, "l": 3}
    sizes |= {axis: size for axis, size in choice.items() if axis in sizes}
    if "part" in choice:
        sizes["o"] = choice["part"]
        sizes["k"] = 2 if operand == IMAGE else choice["k"]
    if operand == WEIGHT:
        return prod(sizes[axis] for axis in "ockl")
    rows = {y * stride + k for y in range(sizes["y"]) for k in range(sizes["k"])}
    columns = {x + last for x in range(sizes["x"]) for last in range(sizes["l"])}
    return sizes["c"] * (max(rows) + 1) * (max(columns) + 1)


@pytest.mark.parametrize(("of", "stride", "blocks"), [(WINDOWS, 1, 4), (STRIDED, 2, 2)])
def test_elements_of_a_load(of: ArrayProduct, stride: int, blocks: int) -> None:
    for choices in some(of, 40, 4):
        counts = ProductCounts(of, choices)
        for operand, memory in ((IMAGE, MemoryId.INP), (WEIGHT, MemoryId.WGT)):
            found = counts.loads(operand)
            assert found.memory is memory
            rows = [choices.choice(row) for row in range(len(choices))]
            wanted = [box_of_windows(each, operand, stride, blocks) for each in rows]
            assert found.elements.tolist() == wanted


# Sizes ----------------------------------------------------------------------------------------


def test_sizes_of_tiles_and_steps() -> None:
    """Tiles are no longer than their axis; an axis of one iteration is no knob."""
    single = product(matrices(blocks=1))
    choices = Choices.of([{"threads": 2, "c": 4, "m": 4, "stays": "steps", "along": "m"}] * 2)
    counts = ProductCounts(single, choices)
    assert {axis: each.tolist() for axis, each in counts.tile.items()} == {
        **{"s": [1, 1], "m": [4, 4], "o": [1, 1]}
    }
    assert counts.steps.tolist() == [2, 2]
    assert {axis: each.tolist() for axis, each in counts.tiles.items()} == {"m": [2, 2]}
    assert counts.products == 6 * 6
    assert counts.products_of_tile.tolist() == [2, 2]
    assert (counts.slotted, counts.threads.tolist()) == (False, [2, 2])
    beyond = Choices.of([{"threads": 1, "c": 6, "m": 9, "stays": "steps", "along": "m"}])
    assert ProductCounts(single, beyond).size.tolist() == [6]


def test_products_of_windows() -> None:
    choices = Choices.of(
        [{"threads": 1, "c": 2, "o": 2, "y": 2, "x": 3, "stays": "steps", "along": "o"}]
    )
    counts = ProductCounts(WINDOWS, choices)
    assert counts.products == 4 * 3 * 5 * 3 * 2 * 3
    assert counts.size.tolist() == [12]
    assert counts.step == {"c": [2], "k": [2], "l": [3]}
    assert counts.part_axis == "o"
