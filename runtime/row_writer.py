"""Rows written into a tensor that is stored in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.artifact import RowsCode


class RowWriter:
    """Writes rows where `code` says that they lie."""

    def __init__(self, code: RowsCode) -> None:
        self.code = code
        along = zip(code.shape, code.element_steps, code.row_steps, strict=True)
        kept = [(extent, step) for extent, step, of_rows in along if not of_rows]
        grid = np.indices([extent for extent, _ in kept], dtype=np.int64)
        order = np.zeros(grid.shape[1:], np.int64)
        for index, (_, step) in zip(grid, kept, strict=True):
            order += index * step
        self._order = order
        """The element of a row at each of its places."""
        # An axis of one index may have the step of another, which has all the indices.
        along_rows = zip(code.row_steps, code.shape, strict=True)
        steps = [(step, extent > 1, axis) for axis, (step, extent) in enumerate(along_rows) if step]
        self._axes = [(step, axis) for step, _, axis in sorted(steps, reverse=True)]

    @property
    def row_bytes(self) -> int:
        """The bytes that a row takes in the tensor."""
        return int(self._order.size)

    def put(self, tensor: NDArray[Any], rows: NDArray[Any], first: int | None = None) -> None:
        """Write rows [count, elements] from row `first` on; by default from that of the code."""
        begin = self.code.first if first is None else first
        for number, row in enumerate(rows, begin):
            place: list[int | slice] = [slice(None)] * len(self.code.shape)
            for step, axis in self._axes:
                place[axis], number = divmod(number, step)
            tensor[tuple(place)] = row[self._order]
