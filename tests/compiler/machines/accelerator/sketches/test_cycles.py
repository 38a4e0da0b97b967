"""Estimates of products, by hand: 4 blocks of 3 rows and 5 columns, of sums over 3 blocks and
windows of 2 x 3."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.counts import ProductCounts
from tandem.compiler.machines.accelerator.sketches.cycles import IN_CYCLES, bound, columns
from tandem.compiler.machines.accelerator.sketches.product import ArrayProduct
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.plan.space import Choices
from tandem.hw.features import Feature
from tests.support.compiler.machines.accelerator.sketches.small_products import (
    TINY,
    product,
    windows,
)
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

WINDOWS = product(windows())
PRODUCTS = 4 * 3 * 5 * 3 * 2 * 3
TIMING = MemoryTiming(20, 3)
COST = MachineCost(TINY.config, TIMING)
OVERHEAD = 20 + 2 * 4
"""Of a LOAD or STORE: latency, and twice the overhead of a transfer."""
FETCH = 2 * 3
"""An instruction is two beats of three cycles."""
SHARED: dict[str, Any] = {"c": 1, "o": 2, "y": 3, "x": 3}
"""Four tiles of 18 accumulators, of three steps each."""


def tiles(**settings: Any) -> Choices:
    return Choices.of([{"threads": 2, **SHARED, "stays": "steps", "along": "o", **settings}])


def slots(**settings: Any) -> Choices:
    loops: dict[str, Any] = {"part": 1, "k": 1, "order": "outputs", "along": "o"}
    numbers = {"image_slots": 2, "weight_slots": 3, "sum_slots": 1}
    return Choices.of([{"threads": 1, **SHARED, **loops, **numbers, **settings}])


def costs(choices: Choices, of: ArrayProduct = WINDOWS, cost: MachineCost = COST) -> dict[str, Any]:
    found = columns(ProductCounts(of, choices), cost)
    return {name: each.item() for name, each in found.items()}


PASSES = 18 + 18 + 18
"""Resets, an addition, a shift."""
STORED = -(-18 * 4 // 8) * 3 + OVERHEAD


def test_tiles_that_threads_share() -> None:
    # 4 x 5 pixels of 4 bytes, and 2 x 6 blocks of weights of 16.
    image, weight = OVERHEAD + 10 * 3, OVERHEAD + 24 * 3
    array = PRODUCTS + 4 * PASSES + 12 / 2
    bus = 12 * (image + weight + FETCH)
    paced = (12 * weight + PRODUCTS) / 2
    busy = 4 * 3 * (image + weight)
    assert busy < bus
    assert costs(tiles()) == {
        **{"image_loads": 12, "image_load": image, "image_places": 2},
        **{"weight_loads": 12, "weight_load": weight, "weight_places": 2},
        **{"tiles": 4, "size": 18, "products": 12, "slotted": 0, "threads": 2},
        **{"array": array, "bus": bus, "busy": busy, "paced": paced},
        **{"first": image + weight, "last": PASSES + STORED},
        "estimate": pytest.approx(bus + image + weight + PASSES + STORED + 0.02 * paced),
    }


def test_weights_that_stay() -> None:
    """A thread by itself waits for its passes and STOREs; nothing waits for weights that stay."""
    image, weight = OVERHEAD + 30 * 3, OVERHEAD + 72 * 3
    array = PRODUCTS + 4 * PASSES + 4 / 2
    paced = 2 * weight + PRODUCTS
    # Two tiles load both, two the image alone, in less time than their products take.
    busy = 2 * (image + weight) + 2 * array / 4
    found = costs(tiles(threads=1, c=3, stays="weight", along="x"))
    assert (found["image_loads"], found["weight_loads"]) == (4, 2)
    assert (found["image_places"], found["weight_places"]) == (1, 1)
    assert (found["array"], found["busy"], found["paced"]) == (array, busy, paced)
    assert found["bus"] == 4 * image + 2 * weight + 4 * FETCH
    assert (found["first"], found["last"]) == (image, PASSES + STORED)
    waited = paced + 4 * (PASSES + STORED)
    assert found["estimate"] == pytest.approx(waited + image + PASSES + STORED + 0.02 * paced)


def test_images_that_stay() -> None:
    """Two threads; of four tiles two find all that they need on chip, for both of them."""
    found = costs(tiles(o=1, y=3, x=5, c=3, stays="image", along="o"))
    image, weight = OVERHEAD + 42 * 3, OVERHEAD + 36 * 3
    passes = 15 * 3
    array = PRODUCTS + 4 * passes + 4 / 2
    assert (found["image_loads"], found["weight_loads"], found["tiles"]) == (1, 4, 4)
    assert found["busy"] == max(array / 4, image + weight) + 3 * max(array / 4, weight)
    assert found["first"] == weight
    assert found["paced"] == image + PRODUCTS


def test_slots() -> None:
    """A part's passes and STOREs are last; the array waits while a part of the image is loaded,
    but for the products of three blocks of weights."""
    image, weight = OVERHEAD + 10 * 3, OVERHEAD + 6 * 3
    array = PRODUCTS + 4 * PASSES + 48 / 2
    paced = (48 * weight + PRODUCTS) / 3
    busy = 4 * (3 * image + 12 * weight) + (image + weight - PRODUCTS / 48 * 3) * 12
    assert costs(slots()) == {
        **{"image_loads": 12, "image_load": image, "image_places": 2},
        **{"weight_loads": 48, "weight_load": weight, "weight_places": 3},
        **{"tiles": 4, "size": 18, "products": 48, "slotted": 1, "threads": 1},
        **{"array": array, "bus": 12 * image + 48 * (weight + FETCH), "busy": busy},
        **{"paced": paced, "first": image + weight, "last": (PASSES + STORED) / 2},
        "estimate": pytest.approx(busy + image + weight + (PASSES + STORED) / 2 + 0.02 * paced),
    }


def test_sums_in_one_slot_wait_for_passes() -> None:
    """A memory that is quick, so that places are what is waited for."""
    cost = MachineCost(TINY.config, MemoryTiming(1, 1))
    one = {"o": 1, "part": 1, "k": 2, "weight_slots": 1, "c": 3}
    once, twice = (costs(slots(**one, sum_slots=count), cost=cost) for count in (1, 2))
    assert once["paced"] == twice["paced"] > once["bus"]
    passes = 8 * 9 * 3
    rest = once["first"] + once["last"] + 0.02 * once["paced"]
    assert once["busy"] < once["paced"] + passes
    assert once["estimate"] == pytest.approx(once["paced"] + passes + rest)
    assert twice["estimate"] == pytest.approx(max(twice["busy"], twice["paced"]) + rest)


def test_tiles_that_find_everything_on_chip() -> None:
    """Slots for all loads of all tiles: 2 of 4 tiles load weights, 2 of them the image."""
    all_slots = {"o": 4, "y": 1, "x": 5, "c": 3, "k": 2, "part": 4}
    found = costs(slots(**all_slots, image_slots=1, weight_slots=1, order="outputs"))
    assert (found["tiles"], found["weight_loads"], found["image_loads"]) == (3, 1, 3)
    array = found["array"] / 3
    image, weight = OVERHEAD + 3 * 7 * 3 * 2 / 2, OVERHEAD + 144 * 3
    assert found["weight_load"] == weight
    # Two rows of seven columns are 56 bytes of each of three blocks: 7 beats each.
    assert found["image_load"] == image == OVERHEAD + 21 * 3
    has = PRODUCTS / 1
    assert has > image + weight
    wanted = max(array, image + weight) + 2 * max(array, image)
    assert found["busy"] == pytest.approx(wanted)


def test_residuals_and_overwriting() -> None:
    """A residual is loaded into ACC and added; machines that overwrite have no resets."""
    skip = product(windows(skip=True))
    loaded = OVERHEAD + 9 * 3
    assert costs(tiles(), skip)["array"] == PRODUCTS + 4 * (PASSES + loaded + 18) + 6
    extended = machine("extended")
    assert Feature.OVERWRITE in extended.features
    again = product(windows(), AcceleratorTarget.of(extended))
    found = costs(tiles(), again, MachineCost(extended, TIMING))
    assert found["array"] == PRODUCTS + 4 * (PASSES - 18) + 6


@pytest.mark.parametrize(
    ("choices", "micro_ops"),
    [
        # Kernels have 1 x 2 x 2 x 3 micro-ops and four for the passes; a part of one block, 3.
        (tiles(), 2 * (12 + 4)),
        (slots(), 3 + 4),
        (tiles(o=4, y=3, x=5, c=3, threads=1), 2 * 3 * 3 * 3 + 4),
    ],
)
def test_micro_ops_that_do_not_stay(choices: Choices, micro_ops: int) -> None:
    log = (micro_ops - 1).bit_length()
    sizes = (TINY.config.replace(log_uop_buffer=2 + each) for each in (log, log - 1))
    fits, not_enough = (MachineCost(each, TIMING) for each in sizes)
    assert np.isfinite(costs(choices, cost=fits)["estimate"])
    assert costs(choices, cost=not_enough)["estimate"] == np.inf
    assert costs(choices, cost=not_enough)["array"] == costs(choices)["array"]


def test_what_no_program_goes_below() -> None:
    """Products; or 240 bytes, in 30 beats; and the latency of DRAM, twice."""
    assert bound(ProductCounts(WINDOWS, tiles()), COST).tolist() == [PRODUCTS + 40]
    small = product(windows(depth=1, kernel=(1, 1)))
    assert bound(ProductCounts(small, tiles()), COST).tolist() == [30 * 3 + 40]


def test_columns_of_many_choices() -> None:
    both = Choices.of([tiles().choice(0), tiles(c=3).choice(0)])
    found = columns(ProductCounts(WINDOWS, both), COST)
    assert {each.shape for each in found.values()} == {(2,)}
    assert set(IN_CYCLES) <= found.keys()
    assert [*found][-1] == "estimate"
    for row, one in enumerate((tiles(), tiles(c=3))):
        assert {name: each[row] for name, each in found.items()} == costs(one)
