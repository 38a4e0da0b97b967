"""Groups of a layer's weights, which have one scale: neighbouring input channels."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of weights [C, I, ...], output channels first, then input channels, and then the
    positions of a kernel.

    A group is `size` neighbouring input channels of one output channel at one position; the last
    one of them may have fewer. Weights are handled as rows [C, positions * I], the input channels
    of a position side by side, so that a group is neighbouring columns.
    """

    shape: tuple[int, ...]
    size: int

    def __post_init__(self) -> None:
        if len(self.shape) < 2 or 0 in self.shape:
            raise QuantisationError(
                f"weights of shape {self.shape}: groups take output and input channels"
            )
        if self.size < 1:
            raise QuantisationError(f"groups of {self.size} weights: at least 1 is needed")

    @property
    def inputs(self) -> int:
        """The input channels."""
        return self.shape[1]

    @property
    def positions(self) -> int:
        """The positions of the kernel; 1 for a matrix."""
        return prod(self.shape[2:])

    @property
    def groups(self) -> int:
        """The groups of an output channel at a position."""
        return -(-self.inputs // self.size)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first column of each group of a row."""
        first = np.arange(self.groups) * self.size
        return (np.arange(self.positions)[:, None] * self.inputs + first).reshape(-1)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of columns of each group of a row."""
        return np.diff(self.starts, append=self.positions * self.inputs)

    @property
    def group_of_column(self) -> NDArray[np.int64]:
        """The group of each column of a row."""
        sizes = self.sizes
        return np.repeat(np.arange(sizes.size), sizes)

    def rows(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Weights [C, I, ...] as rows."""
        return np.moveaxis(weights, 1, -1).reshape(self.shape[0], -1)

    def weights(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows as weights [C, I, ...]."""
        return self._unrolled(rows, self.inputs)

    def scales(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Numbers of groups, [C, positions * groups], as [C, groups, ...]."""
        return self._unrolled(rows, self.groups)

    def spread(self, of_groups: NDArray[Any]) -> NDArray[Any]:
        """Numbers of groups, [C, positions * groups], for each column: [C, positions * I]."""
        return np.repeat(of_groups, self.sizes, axis=1)

    def _unrolled(self, rows: NDArray[Any], channels: int) -> NDArray[Any]:
        whole = rows.reshape(self.shape[0], *self.shape[2:], channels)
        return np.ascontiguousarray(np.moveaxis(whole, -1, 1))
