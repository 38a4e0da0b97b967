"""Programs that are extrapolated, against the same simulation of all their tiles, and by hand."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_simulation import (
    HANDOVER,
    simulate,
)
from tests.support.base.compiled import plain

WHOLE = 1 << 40
"""More products than any program has."""
FEW = 8


@dataclass(frozen=True)
class Numbers:
    """What a choice is to the simulation, in the order of its columns."""

    begin: int = 0
    steps: int = 1
    parts: int = 1
    channels: int = 1
    y: int = 4
    x: int = 3
    outputs: int = 1
    image_slots: int = 8
    weight_slots: int = 8
    sum_slots: int = 2
    keeps_image: int = 0
    keeps_weights: int = 0
    of_weights: int = 0
    behind: int = 0
    rows: int = 1
    operands: int = 0
    readers: int = 1
    parameters: int = 0
    product_fetch: int = 0
    first_fetch: int = 0


Durations = NDArray[np.int64]
STAGES = ("image", "resets", "product", "passes", "residual", "stores", "fetch", "queue")


def durations(**stages: Any) -> Durations:
    """Cycles by stage: a number, or [[neither, wide], [tall, both]] whole."""
    found = np.zeros((1, 8, 2, 2), np.int64)
    for name, cycles in stages.items():
        found[0, STAGES.index(name)] = cycles
    return found


def simulated(
    choices: list[Numbers],
    taken: Durations,
    *,
    height: int,
    width: int,
    batches: int = 1,
    longest: int = FEW,
    overhead: int = 0,
    loading: float = 0.0,
    extra: float = 0.0,
    limit: float = np.inf,
) -> tuple[list[float], float]:
    """Cycles of choices, and the limit afterwards, if `longest` products are simulated."""
    function = plain(simulate)
    assert isinstance(function, FunctionType)
    function.__globals__["LONGEST"] = longest
    count, limits = len(choices), np.array([limit])
    found = np.full(count, np.inf)
    slots = max(max(each.image_slots, each.weight_slots, each.sum_slots) for each in choices)
    parts = max(each.parts for each in choices)
    function(
        *(found, np.array([astuple(each) for each in choices]), taken),
        *(np.full(count, loading), np.zeros(1), np.zeros(count, np.int64), np.full(count, extra)),
        *(limits, batches, height, width, overhead),
        *(np.zeros((2, slots), np.int64), np.zeros((2, slots), np.int64)),
        np.zeros((slots, parts), np.int64),
    )
    return found.tolist(), float(limits[0])


def cycles(choice: Numbers, taken: Durations, height: int, width: int, **how: int) -> float:
    """Cycles of one choice."""
    ((found,), _) = simulated([choice], taken, height=height, width=width, **how)
    return found


@pytest.mark.parametrize("outputs", [0, 1])
@pytest.mark.parametrize(
    ("batches", "channels", "height", "width"),
    [(1, 3, 19, 11), (3, 1, 19, 11), (2, 2, 18, 12), (1, 3, 4, 20), (1, 3, 30, 2), (1, 20, 3, 2)],
)
def test_tiles_at_the_edge_are_as_large_as_they_are(
    outputs: int, batches: int, channels: int, height: int, width: int
) -> None:
    # With a slot for each operand a tile's load begins behind the product before: together ten
    # cycles for each pixel of a tile, 3 of them the product's.
    y, x = 4, 3
    tall, wide = height - (height - 1) // y * y, width - (width - 1) // x * x
    pixels = np.array([[tall * wide, tall * x], [y * wide, y * x]])
    taken = durations(image=7 * pixels - 2 * HANDOVER, product=3 * pixels)
    one = Numbers(
        y=y, x=x, channels=channels, image_slots=1, weight_slots=1, sum_slots=1, outputs=outputs
    )
    # The first load waits for nothing, and the last STORE for its product.
    wanted = 10 * batches * channels * height * width - HANDOVER + HANDOVER
    for longest in (WHOLE, FEW):
        found = cycles(one, taken, height, width, batches=batches, longest=longest)
        assert found == pytest.approx(wanted)


EDGE = [[9000, 700], [700, 700]]
"""Cycles of a stage that takes longest in the corner, which is not among the simulated tiles."""


@pytest.mark.parametrize(("height", "width"), [(1201, 60), (60, 1201)])
@pytest.mark.parametrize(
    ("changes", "stages", "unseen"),
    [
        ({}, {"image": EDGE}, 0),
        ({"steps": 2}, {"image": EDGE}, 0),
        ({}, {"residual": EDGE}, 0),
        ({}, {"product": EDGE}, 0),
        ({"steps": 2, "rows": 2}, {"product": EDGE}, 0),
        ({"parts": 3}, {"product": EDGE}, 0),
        ({}, {"resets": EDGE}, 0),
        ({"parts": 2}, {"resets": EDGE}, 0),
        ({"parts": 2}, {"passes": EDGE}, 0),
        ({"of_weights": 3000}, {}, 0),
        ({"of_weights": 3000, "steps": 2, "parts": 2, "rows": 2}, {}, 0),
        ({"keeps_weights": 1, "weight_slots": 1, "of_weights": 3000}, {"image": EDGE}, 0),
        ({"parameters": 5000}, {}, 0),
        ({"product_fetch": 2000, "steps": 2, "parts": 2, "rows": 2}, {}, 0),
        ({"first_fetch": 4000, "parts": 2, "steps": 2}, {}, 0),
        # It counts the fetch behind the last part, for which nobody waits, not that before it.
        ({}, {"fetch": EDGE}, 9000 - 700),
        ({"parts": 2}, {"fetch": EDGE}, 9000 - 700),
        # Of an image that stays, a tile at the edge has no load of its own.
        ({"keeps_image": 1, "outputs": 0}, {"image": EDGE}, -9000),
    ],
)
def test_a_tile_at_the_edge_takes_its_own_loads_and_work(
    changes: dict[str, int], stages: dict[str, object], unseen: int, height: int, width: int
) -> None:
    # One pixel of 120 along an axis: by its size it would take next to nothing.
    choice = replace(Numbers(y=min(height, 120), x=min(width, 120)), **changes)
    taken = durations(**{"image": 100, "product": 100, **stages})
    wanted = cycles(choice, taken, height, width, longest=WHOLE) + unseen
    assert cycles(choice, taken, height, width) == pytest.approx(wanted, abs=250)


@pytest.mark.parametrize(
    ("choice", "batches", "tiles"),
    [
        # Weights of each of 12 channels stay for 3 tiles; of each of 3, for 12.
        (Numbers(outputs=1, keeps_weights=1, weight_slots=1, of_weights=3000, channels=12), 1, 3),
        (Numbers(outputs=1, keeps_weights=1, weight_slots=1, of_weights=3000, channels=3), 1, 12),
        # The image of each of 12 tiles stays for 3 channels, that of each of 3 for 12.
        (Numbers(outputs=0, keeps_image=1, image_slots=1, channels=3, readers=3), 2, 6),
        (Numbers(outputs=0, keeps_image=1, image_slots=1, channels=12, readers=12), 3, 1),
    ],
)
def test_operands_that_stay_are_loaded_again_after_the_inner_loop(
    choice: Numbers, batches: int, tiles: int
) -> None:
    taken = durations(image=3000 * choice.keeps_image, product=100)
    height, width = choice.y * tiles, choice.x
    wanted = cycles(choice, taken, height, width, batches=batches, longest=WHOLE)
    again = batches * (choice.channels if choice.outputs else tiles)
    whole = batches * choice.channels * tiles
    assert wanted == pytest.approx(3000 * again + 100 * whole, abs=20 * again)
    assert cycles(choice, taken, height, width, batches=batches) == pytest.approx(wanted, abs=60)


def test_limits() -> None:
    slow, fast = Numbers(), Numbers(y=8)
    taken = durations(product=100)
    # 6 and 3 tiles, one behind the other: a load and its hand-over before, a STORE's behind.
    both = [100 * tiles + 2 * HANDOVER for tiles in (6, 3)]
    how = {"height": 24, "width": 3, "longest": WHOLE}
    assert simulated([slow, fast], taken, **how) == (both, np.inf)
    assert simulated([slow, fast], taken, **how, limit=616.0) == (both, 316.0)
    assert simulated([slow, fast], taken, **how, limit=615.0) == ([np.inf, both[1]], 316.0)
    assert simulated([fast, slow], taken, **how, limit=616.0) == ([both[1], np.inf], 316.0)
    # What the bus alone takes is more than the limit.
    assert simulated([fast], taken, **how, limit=316.0, loading=317.0) == ([np.inf], 316.0)
    assert simulated([fast], taken, **how, loading=317.0) == ([317.0], np.inf)
    assert simulated([fast], taken, **how, limit=320.0, extra=4.0) == ([320.0], 320.0)
    assert simulated([fast], taken, **how, limit=319.0, extra=4.0) == ([np.inf], 319.0)


def test_stages_of_one_tile() -> None:
    taken = durations(image=11, resets=3, product=100, passes=20, stores=7)
    choice = Numbers(begin=10, behind=5, of_weights=13, operands=40)
    # The load of the image and of weights, the product, operands, passes, STORE.
    wanted = 5 + 11 + 13 + HANDOVER + 100 + 40 + 20 + HANDOVER + 7 + 9
    assert cycles(choice, taken, 4, 3, overhead=9) == wanted
    # Compute begins later than loads end.
    late = replace(choice, begin=90)
    assert cycles(late, taken, 4, 3, overhead=9) == wanted + 90 + 3 - (5 + 11 + 13 + HANDOVER)
    # Parameters, and a residual behind the weights.
    residual = durations(image=11, resets=3, product=1, passes=20, residual=30, stores=7)
    found = cycles(replace(choice, parameters=17), residual, 4, 3, overhead=9)
    assert found == 5 + 17 + 11 + 13 + 30 + HANDOVER + 40 + 20 + HANDOVER + 7 + 9


@pytest.mark.parametrize("residual", [0, 1])
def test_loads_behind_more_stores_than_the_queue_takes(residual: int) -> None:
    """They begin when the first of them have begun, the last but one here: 50 of 70 cycles."""
    choice = Numbers(product_fetch=2)
    taken = durations(image=11, residual=residual, product=1, passes=20, stores=70, queue=50)
    first = 2 + 11 + residual + HANDOVER + 20 + HANDOVER + (not residual)
    wanted = first + 50 + 2 + 11 + residual + HANDOVER + 20 + HANDOVER + 70 + (not residual)
    assert cycles(choice, taken, 8, 3) == wanted
    # Those that fit in the queue hold nothing up.
    short = durations(image=11, residual=residual, product=1, passes=20, stores=70)
    assert cycles(choice, short, 8, 3) == first + 70 + 70
