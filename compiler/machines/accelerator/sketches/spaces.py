"""The knobs of a product's two schedules, and which of their choices are consistent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from tandem.compiler.machines.accelerator.sketches.product import ArrayProduct
from tandem.compiler.machines.accelerator.sketches.schedules import (
    IMAGE,
    PART,
    STEPS,
    WEIGHT,
    kept_at,
    orders,
)
from tandem.compiler.plan.space import Bools, Choices, Ints, Space, divisors, tile_sizes
from tandem.compiler.te.knobs import Choice, Setting

ALL: Final = 0
"""The setting of slots for one for each of a tile's loads."""
SLOTS: Final[Mapping[str, tuple[int, ...]]] = {
    "image_slots": (2, 1, ALL),
    "weight_slots": (2, 1, 3, 4, ALL),
    "sum_slots": (2, 1),
}
"""The settings of the knobs for numbers of slots."""
MOST: Final = 1_000_000
"""The most combinations of settings that are listed."""


def tiled_space(product: ArrayProduct) -> Space:
    """The knobs of `schedules.tiled`."""
    stays = tuple(name for name in (STEPS, WEIGHT, IMAGE) if name == STEPS or _may_stay(product))
    knobs: dict[str, tuple[int | str, ...]] = {
        "threads": (2, 1),
        product.steps: divisors(product.extents[product.steps]),
        **{axis: tile_sizes(extent) for axis, extent in product.axes.items()},
        "stays": stays,
        "along": tuple(product.axes),
    }
    return Space(_thinned(knobs, product), lambda choices: _tiled(product, choices))


def slotted_space(product: ArrayProduct, axis: str) -> Space:
    """The knobs of `schedules.slotted`; tiles along `axis` are whole."""
    knobs: dict[str, tuple[int | str, ...]] = {
        "threads": (1,),
        product.steps: divisors(product.extents[product.steps]),
        **{
            one: divisors(extent) if one == axis else tile_sizes(extent)
            for one, extent in product.axes.items()
        },
        PART: divisors(product.extents[axis]),
        **{tap: divisors(product.extents[tap])[::-1] for tap in product.taps[:1]},
        "order": ("outputs", "pixels"),
        "along": tuple(product.axes)[:1],
        **SLOTS,
    }
    return Space(_thinned(knobs, product), lambda choices: _slotted(product, axis, choices))


def _may_stay(product: ArrayProduct) -> bool:
    """Whether some axis is of one operand alone: otherwise nothing can stay."""
    return any(
        not (axis in product.of_image and axis in product.of_weight) for axis in product.axes
    )


def _tiled(product: ArrayProduct, choices: Choices) -> Bools:
    """Whether each thread has a tile, and the operand that stays serves all and the whole sum."""
    kept = kept_at(product)
    possible = choices.equals("stays", STEPS) | (
        choices[product.steps] == product.extents[product.steps]
    )
    for axis, extent in product.axes.items():
        # Fewer tiles than threads would be computed by several of them.
        tiles = -(-extent // choices[axis])
        possible &= ~choices.equals("along", axis) | (tiles >= choices["threads"])
    for stays in (WEIGHT, IMAGE):
        last = kept[stays]
        order = orders(product)[stays]
        inside = order[order.index(last) + 1 :] if last is not None else order
        shared = np.logical_or.reduce(
            [choices.equals("along", axis) for axis in inside] or [np.zeros(len(choices), bool)]
        )
        possible &= ~choices.equals("stays", stays) | shared
    return possible


def _slotted(product: ArrayProduct, axis: str, choices: Choices) -> Bools:
    """Whether parts divide tiles, and no two choices are one program."""
    size = choices[axis] if axis in product.axes else np.full(len(choices), product.extents[axis])
    possible: Bools = size % choices[PART] == 0
    only = np.logical_and.reduce([choices[one] >= extent for one, extent in product.axes.items()])
    loops = sum(
        (choices[one] < extent).astype(np.int64)
        for one, extent in product.axes.items()
        if one != axis
    )
    # The order of a single loop is one order.
    alone = (size >= product.extents[axis]) | (np.asarray(loops) == 0)
    possible &= ~alone | choices.equals("order", "outputs")
    possible &= ~only | (choices["sum_slots"] == 1)
    for name, loads in loads_of_tile(product, axis, choices).items():
        possible &= (choices[name] != ALL) | (loads > max(SLOTS[name]))
    return possible


def loads_of_tile(product: ArrayProduct, axis: str, choices: Choices) -> dict[str, Ints]:
    """How often a tile loads into the slots of each operand, by their knob.

    Parameters
    ----------
    axis
        That of parts.
    """
    steps = product.extents[product.steps] // choices[product.steps]
    size = choices[axis] if axis in product.axes else np.full(len(choices), product.extents[axis])
    products = steps * (size // choices[PART])
    for tap in product.taps[:1]:
        products = products * (product.extents[tap] // choices[tap])
    return {"image_slots": steps, "weight_slots": products}


def settings(product: ArrayProduct, axis: str, choice: Choice) -> dict[str, Setting]:
    """A choice with numbers of slots, as the schedule takes them."""
    loads = loads_of_tile(product, axis, Choices.of([choice]))
    found = {name: int(count.item()) for name, count in loads.items() if choice[name] == ALL}
    return {**choice, **found}


def _thinned(
    knobs: Mapping[str, tuple[int | str, ...]], product: ArrayProduct
) -> dict[str, tuple[int | str, ...]]:
    """The knobs with fewer sizes of the axis that has most, until there are few enough
    combinations: every second one, and the largest."""
    found = dict(knobs)
    while np.prod([float(len(settings)) for settings in found.values()]) > MOST:
        axis = max(product.axes, key=lambda one: len(found[one]))
        if len(found[axis]) < 4:
            break
        found[axis] = found[axis][::-1][::2][::-1]
    return found
