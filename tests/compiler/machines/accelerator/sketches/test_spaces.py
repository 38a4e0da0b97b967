"""The knobs of both schedules, and which choices are consistent, by walks over tiles."""

from __future__ import annotations

from itertools import product as combinations
from math import prod
from typing import Any

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.sketches import spaces
from tandem.compiler.machines.accelerator.sketches.product import ArrayProduct
from tandem.compiler.machines.accelerator.sketches.spaces import (
    ALL,
    MOST,
    loads_of_tile,
    settings,
    slotted_space,
    tiled_space,
)
from tandem.compiler.plan.space import Choices, tile_sizes
from tandem.compiler.te import Tensor
from tests.support.compiler.machines.accelerator.sketches.small_products import (
    matrices,
    product,
    windows,
)

WINDOWS = product(windows())
"""4 blocks of 3 rows and 5 columns; sums over 3 blocks in windows of 2 x 3."""
STACKS = product(matrices(stacks=2))
"""Two stacks of 6 rows and 4 blocks of columns; sums over 6 blocks."""
SINGLE = product(matrices(blocks=1))
"""Weights alone are read along an axis of one iteration."""


def test_knobs_of_tiles() -> None:
    assert dict(tiled_space(WINDOWS).knobs) == {
        "threads": (2, 1),
        "c": (1, 3),
        "o": (1, 2, 4),
        "y": (1, 2, 3),
        "x": (1, 2, 3, 5),
        "stays": ("steps", "weight", "image"),
        "along": ("o", "y", "x"),
    }


def test_knobs_of_slots() -> None:
    """Tiles along the axis of parts, and parts, divide it; a row of taps, the largest first."""
    six = product(windows(blocks=6))
    assert dict(slotted_space(six, "o").knobs) == {
        "threads": (1,),
        "c": (1, 3),
        "o": (1, 2, 3, 6),
        "y": (1, 2, 3),
        "x": (1, 2, 3, 5),
        "part": (1, 2, 3, 6),
        "k": (2, 1),
        "order": ("outputs", "pixels"),
        "along": ("o",),
        "image_slots": (2, 1, 0),
        "weight_slots": (2, 1, 3, 4, 0),
        "sum_slots": (2, 1),
    }
    assert "k" not in slotted_space(STACKS, "o").knobs
    assert dict(slotted_space(SINGLE, "o").knobs)["part"] == (1,)
    assert "o" not in slotted_space(SINGLE, "o").knobs


def test_nothing_stays_where_all_axes_are_of_both_operands() -> None:
    both = product(matrices(rows=1, blocks=1, stacks=3))
    assert (both.of_image, both.of_weight) == (("s", "m"), ("s", "o"))
    assert dict(tiled_space(both).knobs)["stays"] == ("steps",)
    for of in (SINGLE, STACKS):
        assert dict(tiled_space(of).knobs)["stays"] == ("steps", "weight", "image")


# Tiles ----------------------------------------------------------------------------------------


def all_of(of: ArrayProduct, space: Any) -> tuple[Choices, list[bool]]:
    """All combinations of the settings, and which of them are in the space."""
    names = space.knobs
    rows = [dict(zip(names, row, strict=True)) for row in combinations(*names.values())]
    every = Choices.of(rows)
    return every, space.constraint(every).tolist()


def possible(of: ArrayProduct, row: dict[str, Any]) -> bool:
    """Each thread has a tile; what stays is of all threads, and has the whole sum."""
    axes = {axis: -(-extent // row[axis]) for axis, extent in of.axes.items()}
    if axes[row["along"]] < row["threads"]:
        return False
    if row["stays"] == "steps":
        return True
    of_operand = of.of_weight if row["stays"] == "weight" else of.of_image
    return row["along"] not in of_operand and row[of.steps] == of.extents[of.steps]


@pytest.mark.parametrize("of", [WINDOWS, STACKS, SINGLE], ids=["windows", "stacks", "single"])
def test_which_tiles_are_possible(of: ArrayProduct) -> None:
    every, found = all_of(of, tiled_space(of))
    wanted = [possible(of, dict(every.choice(row))) for row in range(len(every))]
    assert found == wanted
    assert any(found)


# Slots ----------------------------------------------------------------------------------------


def loads(of: ArrayProduct, row: dict[str, Any]) -> dict[str, int]:
    """Loads of a tile: of the image at each step; of weights for all of its parts and rows."""
    steps = range(0, of.extents["c"], row["c"])
    size = row.get("o", of.extents["o"])
    parts = range(0, size, row["part"])
    taps = range(0, of.extents.get("k", 1), row.get("k", 1))
    return {
        "image_slots": len(steps),
        "weight_slots": len([*combinations(steps, taps, parts)]),
    }


def consistent(of: ArrayProduct, row: dict[str, Any]) -> bool:
    """Whole parts; of choices with the same loops, the same loads in flight, one."""
    size = row.get("o", of.extents["o"])
    if size % row["part"]:
        return False
    several = {axis for axis, extent in of.axes.items() if row[axis] < extent}
    # With loops over parts of the image or over channels alone there is one order.
    if row["order"] == "pixels" and not ("o" in several and several - {"o"}):
        return False
    if not several and row["sum_slots"] != 1:
        return False
    most = {"image_slots": 2, "weight_slots": 4}
    return all(row[name] != ALL or count > most[name] for name, count in loads(of, row).items())


@pytest.mark.parametrize(
    "output",
    [
        windows(blocks=2, rows=2, columns=1, kernel=(5, 1)),
        matrices(rows=2, stacks=2),
        matrices(blocks=1),
    ],
    ids=["windows", "stacks", "single"],
)
def test_which_slots_are_consistent(output: Tensor) -> None:
    of = product(output)
    every, found = all_of(of, slotted_space(of, "o"))
    rows = [dict(every.choice(row)) for row in range(len(every))]
    assert found == [consistent(of, row) for row in rows]
    counted = loads_of_tile(of, "o", every)
    # Numbers of loads are those of whole parts.
    for at in np.flatnonzero(found):
        assert {name: int(each[at]) for name, each in counted.items()} == loads(of, rows[at])


def test_all_slots_as_the_schedule_takes_them() -> None:
    row: dict[str, Any] = {"c": 1, "o": 4, "y": 1, "x": 1, "part": 1, "k": 1, "order": "outputs"}
    all_slots = settings(WINDOWS, "o", {**row, "image_slots": ALL, "weight_slots": ALL})
    assert all_slots == {**row, "image_slots": 3, "weight_slots": 3 * 2 * 4}
    some = {**row, "image_slots": 2, "weight_slots": 3}
    assert settings(WINDOWS, "o", some) == some


# Large products -------------------------------------------------------------------------------


def test_of_many_combinations_every_second_size() -> None:
    """Of the axis that has most, until there are few enough; the largest size always."""
    shape = {"o": 150, "y": 149, "x": 148}
    large = product(windows(150, 149, 148, 12, kernel=(1, 1), passes=False))
    sizes = {axis: tile_sizes(extent) for axis, extent in shape.items()}
    others = 2 * 6 * 3 * 3
    while others * prod(map(len, sizes.values())) > MOST:
        axis = max(sizes, key=lambda one: len(sizes[one]))
        sizes[axis] = tuple(sizes[axis][::-1][::2][::-1])
    assert any(len(sizes[axis]) < len(tile_sizes(extent)) for axis, extent in shape.items())
    found = dict(tiled_space(large).knobs)
    assert {axis: found[axis] for axis in shape} == sizes
    assert prod(map(len, slotted_space(large, "o").knobs.values())) <= MOST


def test_four_sizes_are_the_fewest_that_become_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "MOST", 10)
    found = dict(tiled_space(WINDOWS).knobs)
    assert {axis: found[axis] for axis in "oyx"} == {"o": (1, 2, 4), "y": (1, 2, 3), "x": (2, 5)}
    # 2 x 2 x 3 x 3 x 4 x 3 x 3 settings are few enough.
    for most, columns in ((1296, 4), (1295, 2)):
        monkeypatch.setattr(spaces, "MOST", most)
        assert len(dict(tiled_space(WINDOWS).knobs)["x"]) == columns
