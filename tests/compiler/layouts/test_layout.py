"""Layouts as values: what is stored where."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32
from tandem.compiler.layouts.layout import (
    Bytes,
    Inner,
    Layout,
    One,
    Outer,
    Part,
    Whole,
    image_blocks,
    in_blocks,
    row_blocks,
)
from tandem.runtime.artifact import PaddedAxis

IMAGES = image_blocks(2, 4)


def test_images_and_rows_in_blocks() -> None:
    assert str(IMAGES) == "{0/2, 1/4, 2, 3, 0%2, 1%4}"
    assert IMAGES.stored_shape((3, 5, 6, 7)) == (2, 2, 6, 7, 2, 4)
    assert str(image_blocks(1, 16)) == "{0, 1/16, 2, 3, _, 1%16}"
    assert row_blocks(1, 4).stored_shape((3, 5)) == (3, 2, 1, 1, 1, 4)
    assert IMAGES.rank == 4
    assert IMAGES.blocked == {0, 1}
    assert [IMAGES.block(axis) for axis in range(4)] == [2, 4, 1, 1]


def test_planes_of_bytes() -> None:
    planes = row_blocks(1, 4).in_planes()
    assert str(planes) == "{bytes, 0, 1/4, _, _, _, 1%4}"
    assert planes.stored_shape((1, 5)) == (4, 1, 2, 1, 1, 1, 4)
    assert planes.stored_dtype(INT32) == INT8
    assert planes.stored_dtype(FLOAT32) is None
    assert IMAGES.stored_dtype(FLOAT32) == FLOAT32


def test_padding() -> None:
    both = [(PaddedAxis(3, 0, 4), False), (PaddedAxis(5, 1, 5), False)]
    assert [*IMAGES.padded_axes((3, 5, 6, 7))] == both
    assert [*IMAGES.padded_axes((2, 8, 6, 7))] == []
    outer, inner = in_blocks(0, 4, zero=True)
    weights = Layout((outer, Whole(1), inner))
    assert str(weights) == "{0/4, 1, 0%4=0}"
    assert [*weights.padded_axes((5, 2))] == [(PaddedAxis(5, 0, 2), True)]
    # Of bytes, in each plane.
    assert [*IMAGES.in_planes().padded_axes((4, 5, 1, 1))] == [(PaddedAxis(5, 2, 6), False)]


def test_blocks_of_one_are_whole_axes() -> None:
    assert in_blocks(3, 1) == (Whole(3), One())


@pytest.mark.parametrize(
    "shape", [(3, 5, 2, 3), (2, 8, 1, 4), (1, 1, 1, 1)], ids=lambda shape: "x".join(map(str, shape))
)
def test_positions_are_those_of_blocks_by_hand(shape: tuple[int, ...]) -> None:
    positions = IMAGES.positions(shape)
    stored = IMAGES.stored_shape(shape)
    for (n, c, y, x), position in np.ndenumerate(positions):
        assert np.unravel_index(position, stored) == (n // 2, c // 4, y, x, n % 2, c % 4)
    np.testing.assert_array_equal(IMAGES.in_planes().positions(shape), positions)


@pytest.mark.parametrize(
    "parts",
    [
        (Whole(1),),
        (Whole(0), Whole(0)),
        (Outer(0, 4),),
        (Outer(0, 4), Inner(0, 2)),
        (Inner(0, 4), Outer(0, 4)),
        (Outer(0, 1), Inner(0, 1)),
    ],
)
def test_each_axis_is_stored_once(parts: tuple[Part, ...]) -> None:
    with pytest.raises(GraphError, match=r"does not store axis 0 once$"):
        Layout(parts)


def test_of_bytes_there_is_one() -> None:
    with pytest.raises(GraphError, match="planes of bytes twice"):
        Layout((Bytes(), Whole(0), Bytes()))
