"""Sizes of tiles, at both sides of the waste that is allowed."""

from __future__ import annotations

import pytest

from tandem.compiler.tune.sketches.tiles import divisions, vector_sizes


@pytest.mark.parametrize(
    ("extent", "most", "wanted"),
    [
        (1, 8, (1,)),
        (8, 8, (1, 2, 3, 4, 8)),
        (8, 4, (1, 2, 3, 4)),
        (8, 0, (1,)),
        # 16 iterations are not more than 1.15 x 14, and 15 are more than 1.15 x 13.
        (14, 16, (1, 2, 3, 4, 5, 7, 8, 14)),
        (13, 16, (1, 2, 7, 13)),
        (20, 30, (1, 2, 3, 4, 5, 7, 10, 11, 20)),
        (0, 8, (1,)),
    ],
)
def test_sizes_that_nearly_divide(extent: int, most: int, wanted: tuple[int, ...]) -> None:
    found = divisions(extent, most)
    assert found == wanted
    sizes = range(1, min(extent, most) + 1)
    waste = [size for size in sizes if size == 1 or -(-extent // size) * size <= 1.15 * extent]
    assert found == (tuple(waste) or (1,))


@pytest.mark.parametrize(
    ("extent", "lanes", "most", "wanted"),
    [
        (5, 8, 4, (5,)),
        (8, 8, 4, (8,)),
        (9, 8, 4, (8, 9)),
        (100, 8, 4, (8, 16, 24, 32)),
        (100, 8, 5, (8, 16, 24, 32)),
        (100, 8, 8, (8, 16, 24, 32, 48, 64)),
        (40, 8, 9, (8, 16, 24, 32, 40)),
        (100, 8, 0, ()),
    ],
)
def test_whole_vectors(extent: int, lanes: int, most: int, wanted: tuple[int, ...]) -> None:
    assert vector_sizes(extent, lanes, most) == wanted
