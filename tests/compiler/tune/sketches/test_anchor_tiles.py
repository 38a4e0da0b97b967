"""Tiles of anchors: axes of vectors, and what fits the registers."""

from __future__ import annotations

import pytest

from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tensor import Tensor
from tandem.compiler.tune.sketches.anchor_tiles import (
    Anchor,
    AnchorTile,
    blocked,
    register_tile,
    vector_axes,
    vector_lengths,
)
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.stages import block_of
from tests.support.compiler.te.schedules import matmul
from tests.support.compiler.tune.sketches import built


def test_sizes() -> None:
    tile = AnchorTile("j", {"i": 3, "j": 8}, "i", 2)
    assert tile.size("i", 100) == 6
    assert tile.size("i", 5) == 5
    assert tile.size("j", 100) == 8
    assert AnchorTile("j", {"i": 3, "j": 8}).size("i", 100) == 3
    # Two vectors of 4 lanes in each of 3 rows; of 6 lanes two as well.
    assert [tile.statements(lanes) for lanes in (4, 6, 8, 16)] == [6, 6, 3, 3]


def product(tensor: Tensor, *constants: str) -> Builder:
    builder, _ = built(Schedule.of(tensor))
    builder.constants = frozenset(constants)
    return builder


def axes(tensor: Tensor, *constants: str) -> list[object]:
    builder = product(tensor, *constants)
    return [*vector_axes(builder, block_of(builder.program, "C"))]


def test_axes_of_vectors() -> None:
    # Along j nothing is copied; along i the first operand is.
    assert axes(matmul(8, 8, 5)) == ["j"]
    # What is known is packed ahead.
    assert axes(matmul(8, 8, 5), "A") == ["i", "j"]
    assert axes(matmul(8, 1, 5)) == ["i"]
    assert axes(matmul(8, 2, 5)) == ["j"]
    assert axes(matmul(1, 1, 5)) == []


@pytest.mark.parametrize(
    ("columns", "lengths"),
    [(3, (3,)), (4, (4,)), (5, (4, 5)), (12, (4, 8, 12)), (64, (4, 8, 12, 16))],
)
def test_lengths(columns: int, lengths: tuple[int, ...]) -> None:
    builder = product(matmul(2, columns, 5))
    # Of 16 registers a quarter are one row.
    assert vector_lengths(builder, block_of(builder.program, "C"), "j") == lengths


def test_what_fits_the_registers() -> None:
    builder, asked = built(Schedule.of(matmul(12, 64, 5)), s0__tile__1=8, s0__tile__0=6)
    found = register_tile(builder, "s0", "j", {"i": 12, "j": 64}, ["i", "j"], (4, 8), 4)
    assert found == AnchorTile("j", {"i": 6, "j": 8})
    assert asked["s0.tile.1"] == [4, 8]
    # 16 less one and two of a row: six rows of two.
    assert asked["s0.tile.0"] == [1, 2, 3, 4, 6]
    builder, asked = built(Schedule.of(matmul(12, 64, 5)), s0__tile__1=4)
    register_tile(builder, "s0", "j", {"i": 12, "j": 64}, ["i", "j"], (4, 8), 4)
    assert asked["s0.tile.0"] == [1, 2, 3, 4, 6, 12]


def test_axes_share_what_is_left() -> None:
    builder, asked = built(Schedule.of(matmul()), s0__tile__2=4, s0__tile__1=4)
    found = register_tile(builder, "s0", "x", {"n": 8, "y": 8, "x": 8}, ["n", "y", "x"], (4, 8), 4)
    # 14 rows, of which y takes 4: three are left for n.
    assert asked["s0.tile.1"] == [1, 2, 3, 4, 8]
    assert asked["s0.tile.0"] == [1, 2, 3]
    assert found.registers == {"n": 1, "y": 4, "x": 4}


ANCHOR = Anchor("s", "out", (("i", "a"), ("j", "b")))
SMALL = AnchorTile("j", {"i": 3, "j": 8})


@pytest.mark.parametrize(
    ("extents", "turned", "options"),
    [
        # Three rows and eight columns go so often into what there is.
        ({"i": 12, "j": 16}, False, {0: [2, 4], 1: [2]}),
        ({"i": 13, "j": 17}, False, {0: [2, 4], 1: [2]}),
        ({"i": 3, "j": 8}, False, {}),
        ({"i": 4, "j": 8}, False, {0: [2]}),
        # The axis of vectors is not the last: both stay.
        ({"i": 12, "j": 16}, True, {0: [2, 4]}),
    ],
)
def test_several_register_tiles(
    extents: dict[str, int], turned: bool, options: dict[int, list[int]]
) -> None:
    builder, asked = built(Schedule.of(matmul()))
    assert blocked(builder, "s0", SMALL, ANCHOR, extents, turned) is SMALL
    assert asked.get("s0.block", ["none"]) == ["none", *options]
    for axis, counts in options.items():
        builder, asked = built(Schedule.of(matmul()), s0__block=axis)
        found = blocked(builder, "s0", SMALL, ANCHOR, extents, turned)
        assert (found.blocked, found.count) == ("ij"[axis], counts[0])
        assert asked.get("s0.blocks", counts[:1]) == counts


def test_which_axis_has_them() -> None:
    extents = {"i": 100, "j": 100}
    builder, _ = built(Schedule.of(matmul()), s0__block=1, s0__blocks=4)
    found = blocked(builder, "s0", SMALL, ANCHOR, extents, False)
    assert found == AnchorTile("j", {"i": 3, "j": 8}, "j", 4)
    # No more than 8192 elements.
    wide = AnchorTile("j", {"i": 64, "j": 32})
    builder, asked = built(Schedule.of(matmul()), s0__block=0)
    blocked(builder, "s0", wide, ANCHOR, {"i": 1000, "j": 1000}, False)
    assert (asked["s0.block"], asked["s0.blocks"]) == (["none", 0, 1], [2, 4])
    # Not one of several fits.
    builder, asked = built(Schedule.of(matmul()))
    blocked(
        builder, "s0", AnchorTile("j", {"i": 128, "j": 64}), ANCHOR, {"i": 500, "j": 500}, False
    )
    assert "s0.block" not in asked
