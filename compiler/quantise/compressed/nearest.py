"""The nearest entries of a format's table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.hw.weight_formats import WeightFormat


@dataclass(frozen=True, slots=True, eq=False)
class NearestEntries:
    """A look-up of the entry of a table that is nearest to a number; of two, the greater one.

    The entries are integers, so that what is half way between two of them is a multiple of a half:
    all numbers from one multiple of a half to the next have one nearest entry.

    Attributes
    ----------
    values
        The nearest entry, from `low` on in steps of a half; float32.
    codes
        Its code; of entries that are equal, the least.
    """

    low: int
    values: NDArray[np.float32]
    codes: NDArray[np.uint8]

    @classmethod
    def of(cls, form: WeightFormat) -> NearestEntries:
        """The look-up of a format's table."""
        entries, codes = np.unique(np.array(form.table, np.int64), return_index=True)
        low, high = int(entries[0]), int(entries[-1])
        halves = np.arange(2 * low, 2 * high + 1)
        middles = entries[1:] + entries[:-1]
        found = np.searchsorted(middles, halves, "right")
        return cls(low, entries[found].astype(np.float32), codes[found].astype(np.uint8))

    def value(self, numbers: NDArray[Any]) -> NDArray[np.float32]:
        """The entry nearest to each number."""
        return self.values[self._index(numbers)]

    def code(self, numbers: NDArray[Any]) -> NDArray[np.uint8]:
        """The code of the entry nearest to each number."""
        return self.codes[self._index(numbers)]

    def _index(self, numbers: NDArray[Any]) -> NDArray[np.int32]:
        halves = numbers * 2
        # Before the sum, in which a number just below a multiple of a half would be rounded up.
        np.floor(halves, out=halves)
        halves -= 2 * self.low
        np.clip(halves, 0, len(self.values) - 1, out=halves)
        return halves.astype(np.int32)
