from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.rectangles import (
    Axis,
    Rectangle,
    Zeros,
    may_overlap,
    rectangles,
)

UNTOUCHED = -1


def by_loops(axes: list[Axis], sram: int, dram: int, chip: list[int]) -> None:
    """Element by element; a value of DRAM is its address, plus 1."""
    for iteration in product(*(range(axis.extent) for axis in axes)):
        place = sram + sum(i * axis.sram for i, axis in zip(iteration, axes, strict=True))
        source = dram + sum(i * axis.dram for i, axis in zip(iteration, axes, strict=True))
        inside = all(axis.low <= i < axis.high for i, axis in zip(iteration, axes, strict=True))
        chip[place] = source + 1 if inside else 0


def by_rectangles(found: list[Rectangle | Zeros], chip: list[int]) -> None:
    """As LOADs do it."""
    for piece in found:
        if isinstance(piece, Zeros):
            assert piece.count > 0
            for at in range(piece.sram, piece.sram + piece.count):
                chip[at] = 0
            continue
        assert max(piece.pads) <= 15
        assert piece.rows > 0
        assert piece.columns > 0
        assert 0 <= piece.stride < 1 << 16
        above, below, left, right = piece.pads
        at = piece.sram
        for y in range(-above, piece.rows + below):
            for x in range(-left, piece.columns + right):
                inside = 0 <= y < piece.rows and 0 <= x < piece.columns
                chip[at] = piece.dram + y * piece.stride + x + 1 if inside else 0
                at += 1


def random_axes(rng: random.Random) -> list[Axis]:
    """Up to five dimensions that nest on chip, with gaps or without, in any order of loops."""
    axes = []
    reach = 1
    dense = 1
    for _ in range(rng.randint(0, 5)):
        extent = rng.choice((1, 2, 2, 3, 4, 18, 40) if reach < 40 else (1, 2, 2, 3))
        low, high = 0, extent
        if rng.random() < 0.4:
            low = rng.randint(0, extent)
            high = rng.randint(low, extent)
        step = reach + rng.choice((0, 0, 0, 1, 5))
        dram = rng.choice((dense, dense, dense, 0, 1, rng.randint(0, 30), 70_000, -3))
        axes.append(Axis(extent, low, high, step, dram))
        reach = step * extent
        dense = max(1, dram) * extent
        if reach > 4_000:
            break
    rng.shuffle(axes)
    return axes


@settings(max_examples=250)
@given(st.randoms(use_true_random=False))
def test_rectangles_do_what_the_loops_do(rng: random.Random) -> None:
    axes = random_axes(rng)
    sram, dram = rng.randint(0, 20), 1_000_000
    size = sram + 1 + sum((axis.extent - 1) * axis.sram for axis in axes)
    wanted, found = [UNTOUCHED] * size, [UNTOUCHED] * size
    by_loops(axes, sram, dram, wanted)
    by_rectangles(list(rectangles(axes, sram, dram)), found)
    assert found == wanted


@settings(max_examples=250)
@given(st.randoms(use_true_random=False))
def test_loose_rectangles_put_zeros_only_where_they_may(rng: random.Random) -> None:
    axes = random_axes(rng)
    before, behind = rng.randint(0, 8), rng.randint(0, 8)
    sram = rng.randint(before, 20)
    reach = sram + 1 + sum((axis.extent - 1) * axis.sram for axis in axes)
    own = range(sram - before, reach + behind)
    size = own.stop + 5
    wanted, found = [UNTOUCHED] * size, [UNTOUCHED] * size
    by_loops(axes, sram, 1_000_000, wanted)
    by_rectangles(list(rectangles(axes, sram, 1_000_000, loose=own)), found)
    for at, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if other != UNTOUCHED or at not in own:
            assert one == other, at
        else:
            assert one in (0, UNTOUCHED), at


def test_zeros_of_a_row_stay_though_the_next_row_begins_inside() -> None:
    """A dimension of one iteration, all of it padding, steps by less than a row."""
    axes = [Axis(2, 0, 1, sram=1, dram=1), Axis(1, 1, 1, sram=1, dram=1)]
    assert list(rectangles(axes, 16, 0, loose=range(10, 60))) == [Zeros(16, 2)]


def test_an_image_with_padding_is_one_load() -> None:
    rows = Axis(6, 1, 5, sram=8, dram=20)
    columns = Axis(8, 2, 7, sram=1, dram=1)
    # Element (0, 0) would lie a row and two columns before the image.
    assert list(rectangles([rows, columns], 100, 500 - 22)) == [
        Rectangle(100, 500, 4, 5, 20, (1, 1, 2, 1))
    ]


def test_a_channel_block_is_a_load_each() -> None:
    blocks, rows, columns = Axis(2, 0, 2, 48, 1000), Axis(6, 1, 6, 8, 20), Axis(8, 0, 8, 1, 1)
    found = list(rectangles([blocks, rows, columns], 0, 0))
    assert found == [
        Rectangle(0, 20, 5, 8, 20, (1, 0, 0, 0)),
        Rectangle(48, 1020, 5, 8, 20, (1, 0, 0, 0)),
    ]


def test_what_lies_together_on_both_sides_is_one_row() -> None:
    axes = [Axis(4, 0, 4, 12, 12), Axis(3, 0, 3, 4, 4), Axis(4, 0, 4, 1, 1)]
    assert list(rectangles(axes, 7, 9)) == [Rectangle(7, 9, 1, 48, 0, (0, 0, 0, 0))]


def test_padding_that_is_too_long_comes_from_a_page_of_zeros() -> None:
    rows, columns = Axis(40, 16, 24, 4, 4), Axis(4, 1, 4, 1, 1)
    found = list(rectangles([rows, columns], 0, 0))
    assert found == [Zeros(0, 64), Rectangle(64, 65, 8, 3, 4, (0, 0, 1, 0)), Zeros(96, 64)]


def test_rows_with_too_long_padding_come_one_by_one() -> None:
    rows, columns = Axis(2, 0, 2, 20, 4), Axis(20, 16, 20, 1, 1)
    found = list(rectangles([rows, columns], 0, 0))
    none = (0, 0, 0, 0)
    assert found == [
        Zeros(0, 16),
        Rectangle(16, 16, 1, 4, 0, none),
        Zeros(20, 16),
        Rectangle(36, 20, 1, 4, 0, none),
    ]


def test_a_region_that_is_all_padding() -> None:
    found = list(rectangles([Axis(3, 3, 3, 5, 9), Axis(5, 0, 5, 1, 1)], 2, 0))
    assert found == [Zeros(2, 15)]


def test_one_source_for_all_has_the_stride_0() -> None:
    assert list(rectangles([Axis(9, 0, 9, 1, 0)], 2, 7)) == [Rectangle(2, 7, 9, 1, 0, (0, 0, 0, 0))]


def test_gaps_between_loose_rows_are_filled() -> None:
    axes = [Axis(3, 0, 3, 8, 20), Axis(5, 0, 5, 1, 1)]
    assert len(list(rectangles(axes, 3, 0))) == 3
    # The last row's zeros fit.
    assert list(rectangles(axes, 0, 0, loose=range(24))) == [
        Rectangle(0, 0, 3, 5, 20, (0, 0, 0, 3))
    ]
    # They do not fit: other zeros come in front of the first row.
    assert list(rectangles(axes, 3, 0, loose=range(24))) == [
        Rectangle(0, 0, 3, 5, 20, (0, 0, 3, 0))
    ]
    # Neither.
    assert len(list(rectangles(axes, 3, 0, loose=range(1, 24)))) == 3


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-12, 12)), max_size=3))
def test_overlaps_are_noticed(steps: list[tuple[int, int]]) -> None:
    places = [
        sum(i * step for i, (_, step) in zip(iteration, steps, strict=True))
        for iteration in product(*(range(extent) for extent, _ in steps))
    ]
    if len(set(places)) < len(places):
        assert may_overlap(steps)


@pytest.mark.parametrize(
    ("steps", "overlap"), [([(4, 1), (3, 4)], False), ([(4, -1), (3, 3)], True), ([(1, 0)], False)]
)
def test_dimensions_that_nest_do_not_overlap(steps: list[tuple[int, int]], overlap: bool) -> None:
    assert may_overlap(steps) is overlap
