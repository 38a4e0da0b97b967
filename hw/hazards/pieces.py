"""DRAM in as few pieces as tell apart what instructions touch of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hw.hazards.dram import Rectangles
from hw.hazards.places import PlaceSets, group_rows
from hw.isa.columns import Ints

__all__ = ["DramPieces", "pieces_of"]


@dataclass(frozen=True, slots=True)
class DramPieces:
    """DRAM cut wherever a row of some instruction begins or ends, and the pieces numbered.

    No instruction touches part of a piece, so that a piece stands for its bytes. LOADs that meet no
    STORE's hull conflict with nothing, and take no part.

    Attributes
    ----------
    cuts
        The first byte of each piece. Pieces between rows count too.
    sets
        Sets of pieces that instructions touch.
    which
        By instruction, its set; -1 for what takes no part.
    """

    cuts: Ints
    sets: PlaceSets
    which: Ints


def pieces_of(rectangles: Rectangles) -> DramPieces:
    """Cut DRAM for the instructions that touch `rectangles`."""
    taking_part = np.flatnonzero(rectangles.stores | _meets_store(rectangles))
    table = [rectangles.first, rectangles.stride, rectangles.rows, rectangles.length]
    firsts, groups = group_rows(np.stack([column[taking_part] for column in table], axis=1))
    shapes = taking_part[firsts]
    starts = rectangles.row_starts(shapes)
    ends = starts + np.repeat(rectangles.length[shapes], rectangles.rows[shapes])
    edges = np.sort(np.concatenate([starts, ends]))  # np.unique hashes, which is slower
    cuts = edges[np.diff(edges, prepend=-1) != 0]
    begin, end = np.searchsorted(cuts, starts), np.searchsorted(cuts, ends)
    which = np.full(len(rectangles.first), -1, dtype=np.int64)
    which[taking_part] = groups
    return DramPieces(cuts, PlaceSets.of(rectangles.rows[shapes], begin, end), which)


def _meets_store(rectangles: Rectangles) -> npt.NDArray[np.bool_]:
    """Whose hull meets the hull of some STORE."""
    hulls = np.flatnonzero(rectangles.stores)
    hulls = hulls[np.argsort(rectangles.first[hulls])]
    if not len(hulls):
        return np.zeros(len(rectangles.first), dtype=np.bool_)
    first = rectangles.first[hulls]
    # The furthest end of the STOREs that begin no later than each.
    reach = np.maximum.accumulate(rectangles.end[hulls])
    last = np.searchsorted(first, rectangles.end) - 1
    meets: npt.NDArray[np.bool_] = (last >= 0) & (reach[last] > rectangles.first)
    return meets & (rectangles.rows > 0)
