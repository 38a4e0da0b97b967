"""Sets of locations as intervals, and groups of equal rows.

A location is an element of an on-chip memory or a piece of DRAM. Programs access the same sets
again and again: the rows of numbers that describe sets are grouped, and each set is computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tandem.base.jit import compiled
from tandem.hw.isa.columns import Ints


@dataclass(frozen=True, slots=True)
class IntervalSets:
    """Sets of locations, each as runs of neighbours (intervals).

    Set `k` has the runs `start[k]` up to `start[k + 1]`; run `r` holds the locations `begin[r]` up
    to `end[r]`. The runs of a set ascend, do not overlap and are not empty.
    """

    start: Ints
    begin: Ints
    end: Ints

    @staticmethod
    def of(counts: Ints, begin: Ints, end: Ints) -> IntervalSets:
        """The sets with `counts` runs, whose ends are `begin` and `end`."""
        return IntervalSets(np.concatenate([[0], np.cumsum(counts)]), begin, end)

    @staticmethod
    def joined(parts: Sequence[IntervalSets]) -> IntervalSets:
        """The sets of all `parts`, numbered consecutively."""
        counts = np.concatenate([np.diff(part.start) for part in parts])
        begin = np.concatenate([part.begin for part in parts])
        return IntervalSets.of(counts, begin, np.concatenate([part.end for part in parts]))

    def __len__(self) -> int:
        """Number of sets."""
        return len(self.start) - 1

    def runs(self, number: int) -> Iterator[tuple[int, int]]:
        """First location and end of each run of set `number`."""
        own = slice(self.start[number], self.start[number + 1])
        return zip(self.begin[own].tolist(), self.end[own].tolist(), strict=True)


def group_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The first row of each group of equal `rows`, and the group that each row belongs to.

    Groups are numbered in the order in which they first appear.
    """
    count = len(rows)
    slots = np.full(1 << (2 * count + 1).bit_length(), -1, dtype=np.int64)
    firsts, groups = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    found = _group_rows(np.ascontiguousarray(rows), slots, firsts, groups)
    return firsts[:found], groups


@compiled
def _group_rows(rows: Ints, slots: Ints, firsts: Ints, groups: Ints) -> int:
    """The number of groups; fills in `firsts` and `groups`.

    `slots` is a hash table of groups, probed linearly: -1 everywhere, more than twice as long as
    `rows`, and a power of two.
    """
    count, width = rows.shape
    mask = len(slots) - 1
    group_count = 0
    for row in range(count):
        hashed = 0
        for column in range(width):
            value = rows[row, column]
            hashed = ((hashed ^ value ^ (value >> 31)) & 0x7FFFFFFF) * 0x5BD1E995
            hashed ^= hashed >> 31
        slot = hashed & mask
        while slots[slot] >= 0:
            first = firsts[slots[slot]]
            column = 0
            while column < width and rows[row, column] == rows[first, column]:
                column += 1
            if column == width:
                break
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = group_count
            firsts[group_count] = row
            group_count += 1
        groups[row] = slots[slot]
    return group_count
