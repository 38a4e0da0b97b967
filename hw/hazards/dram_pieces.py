"""DRAM addresses compressed to pieces that every instruction accesses as a whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.hazards.dram import Rectangles
from tandem.hw.hazards.interval_sets import IntervalSets, group_rows
from tandem.hw.isa.columns import Ints


@dataclass(frozen=True, slots=True)
class DramPieces:
    """DRAM cut wherever a row of some instruction begins or ends, and the pieces numbered.

    No instruction accesses part of a piece, so that a piece counts as one location. LOADs whose
    range of bytes overlaps no STORE's conflict with nothing, and are left out.

    Attributes
    ----------
    cuts
        The first byte of each piece. Gaps between rows are pieces too.
    sets
        Sets of pieces that instructions access.
    which
        By instruction, the number of its set; -1 if it is left out.
    """

    cuts: Ints
    sets: IntervalSets
    which: Ints


def pieces_of(rectangles: Rectangles) -> DramPieces:
    """The pieces of DRAM for the instructions with these accesses."""
    considered = np.flatnonzero(rectangles.stores | _meets_store(rectangles))
    table = [rectangles.first, rectangles.stride, rectangles.rows, rectangles.length]
    firsts, groups = group_rows(np.stack([column[considered] for column in table], axis=1))
    shapes = considered[firsts]
    starts = rectangles.row_starts(shapes)
    ends = starts + np.repeat(rectangles.length[shapes], rectangles.rows[shapes])
    edges = np.sort(np.concatenate([starts, ends]))  # np.unique hashes, which is slower
    cuts = edges[np.diff(edges, prepend=-1) != 0]
    begin, end = np.searchsorted(cuts, starts), np.searchsorted(cuts, ends)
    which = np.full(len(rectangles.first), -1, dtype=np.int64)
    which[considered] = groups
    return DramPieces(cuts, IntervalSets.of(rectangles.rows[shapes], begin, end), which)


def _meets_store(rectangles: Rectangles) -> npt.NDArray[np.bool_]:
    """By instruction, whether its range of bytes, gaps included, overlaps that of a STORE."""
    stores = np.flatnonzero(rectangles.stores)
    stores = stores[np.argsort(rectangles.first[stores])]
    if not len(stores):
        return np.zeros(len(rectangles.first), dtype=np.bool_)
    first = rectangles.first[stores]
    # For each STORE, the largest end of all STOREs that begin no later.
    largest_end = np.maximum.accumulate(rectangles.end[stores])
    last = np.searchsorted(first, rectangles.end) - 1
    overlaps: npt.NDArray[np.bool_] = (last >= 0) & (largest_end[last] > rectangles.first)
    return overlaps & (rectangles.rows > 0)
