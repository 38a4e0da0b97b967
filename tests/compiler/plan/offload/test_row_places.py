"""Places of rows: in tensors that are split, turned and padded, and in those that have none."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.plan.offload.row_places import Array, RowPlaces, row_places


def places(numbers: Array, width: int, rows: int) -> RowPlaces | None:
    """Where rows of a width lie in a tensor of the numbers of its elements."""
    there = numbers >= 0
    row = np.where(there, numbers // width, -1)
    return row_places(row, np.where(there, numbers % width, -1), rows)


GRID = np.arange(6 * 4).reshape(6, 4)


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [
        (GRID, RowPlaces((6, 4), (1, 0), (0, 1))),
        (GRID.T, RowPlaces((4, 6), (0, 1), (1, 0))),
        # In blocks of 2 rows and 2 elements.
        (
            GRID.reshape(3, 2, 2, 2).transpose(0, 2, 1, 3),
            RowPlaces((3, 2, 2, 2), (2, 0, 1, 0), (0, 2, 0, 1)),
        ),
        # An axis that goes through elements first, then through rows: two axes.
        (GRID.reshape(24), RowPlaces((6, 4), (1, 0), (0, 1))),
        (GRID.reshape(3, 8), RowPlaces((3, 2, 4), (2, 1, 0), (0, 0, 1))),
        # Axes of one index are left out.
        (GRID[:, None, :, None], RowPlaces((6, 4), (1, 0), (0, 1))),
        (GRID[:1], RowPlaces((4,), (0,), (1,))),
    ],
)
def test_even_steps(numbers: Array, wanted: RowPlaces) -> None:
    assert places(numbers, 4, numbers.size // 4) == wanted


def test_rows_of_one_element() -> None:
    assert places(np.arange(6), 1, 6) == RowPlaces((6,), (1,), (0,))


def test_padding_behind_the_last_row() -> None:
    padded = np.full((4, 2, 4), -1)
    padded.reshape(8, 4)[:6] = GRID
    wanted = RowPlaces((4, 2, 4), (2, 1, 0), (0, 0, 1))
    assert places(padded, 4, 6) == wanted
    # Of a place in padding that would be a row: 6 of 7.
    assert places(padded, 4, 7) is None


@pytest.mark.parametrize(
    "numbers",
    [
        # Elements in no even steps.
        GRID[:, [0, 1, 3, 2]],
        GRID[[0, 2, 1, 3, 4, 5]],
        # Each second row is left out.
        GRID[::2],
        # A diagonal: each step is to another row and another element.
        np.array([0, 5, 10, 15]),
        # Padding within rows.
        np.where(GRID % 4 == 3, -1, GRID),
        # Blocks of which the second is in another order.
        np.array([[0, 1, 2, 3], [6, 7, 4, 5]]),
        # The last block is cut.
        np.arange(10),
    ],
)
def test_none(numbers: Array) -> None:
    assert places(numbers, 4, 6) is None


def test_copies() -> None:
    # Each row twice.
    assert places(GRID[[0, 0, 1, 1]], 4, 2) == RowPlaces((2, 2, 4), (1, 0, 0), (0, 0, 1))
