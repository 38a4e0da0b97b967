"""Places of rows in a tensor that is stored in another order, as even steps along its axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """The extents of a tensor as it is stored, and how many rows and elements apart indices are."""

    shape: tuple[int, ...]
    row_steps: tuple[int, ...]
    element_steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis that steps evenly from row to row and from element to element."""

    extent: int
    of_row: int
    of_element: int


def row_places(row: Array, element: Array, rows: int) -> RowPlaces | None:
    """The places of rows, if each axis can be divided so that it steps evenly.

    Parameters
    ----------
    row, element
        The row, and the element of it, at each place of a tensor; -1 in padding, which may stand
        behind the last row only.
    rows
        The number of rows.
    """
    axes: list[_Axis] = []
    for axis in range(row.ndim):
        along = tuple(slice(None) if each == axis else 0 for each in range(row.ndim))
        parts = _divided(_without_padding(np.stack([row[along], element[along]], -1)))
        if parts is None:
            return None
        axes += parts
    shape = tuple(axis.extent for axis in axes)
    row_steps = tuple(axis.of_row for axis in axes)
    element_steps = tuple(axis.of_element for axis in axes)
    there = row.reshape(-1) >= 0
    own = _summed(shape, row_steps)
    if (
        any(
            of_row and of_element
            for of_row, of_element in zip(row_steps, element_steps, strict=True)
        )
        or not _counts_rows(axes)
        or (own != row.reshape(-1))[there].any()
        or (_summed(shape, element_steps) != element.reshape(-1))[there].any()
        or (own[~there] < rows).any()
    ):
        return None
    return RowPlaces(shape, row_steps, element_steps)


def _summed(shape: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """The sum of indices times steps at each place of a tensor."""
    found = np.zeros(shape, np.int64)
    for index, step in zip(np.indices(shape, dtype=np.int64), steps, strict=True):
        found += index * step
    return found.reshape(-1)


def _counts_rows(axes: list[_Axis]) -> bool:
    """Whether each row has one index along each axis that steps from row to row."""
    below = 1
    for step, extent in sorted((axis.of_row, axis.extent) for axis in axes if axis.of_row):
        if step != below:
            return False
        below *= extent
    return True


def _without_padding(steps: Array) -> Array:
    """An axis with padding as if there was none: with the step of its first two indices."""
    there = int((steps[:, 0] >= 0).sum())
    if there in (1, len(steps)) or (steps[:there] < 0).any():
        return steps
    return np.concatenate(
        [steps[:there], np.arange(there, len(steps))[:, None] * (steps[1] - steps[0])]
    )


def _divided(steps: Array) -> list[_Axis] | None:
    """An axis as axes that step evenly; none where it has one index.

    Parameters
    ----------
    steps
        The row and the element at each index [extent, 2], 0 at the first.
    """
    extent = len(steps)
    if extent == 1:
        return []
    by = steps[1]
    even = (steps == np.arange(extent)[:, None] * by).all(1)
    block = extent if even.all() else int(np.argmin(even))
    own = _Axis(block, int(by[0]), int(by[1]))
    if block == extent:
        return [own]
    whole = steps[::block]
    if extent % block or (steps.reshape(-1, block, 2) != whole[:, None] + steps[:block]).any():
        return None
    outer = _divided(whole)
    return None if outer is None else [*outer, own]
