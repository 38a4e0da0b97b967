"""Pieces of DRAM: cut where rows begin and end, and only of accesses that may conflict."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.hazards.dram import Rectangles
from tandem.hw.hazards.dram_pieces import DramPieces, pieces_of

Access = tuple[int, int, int, int, bool]
"""First byte, stride, rows, length, and whether it is a store."""


def pieces(*accesses: Access) -> DramPieces:
    first, stride, rows, length, stores = zip(*accesses, strict=True)
    columns = [np.array(column, np.int64) for column in (first, stride, rows, length)]
    return pieces_of(Rectangles(columns[0], columns[1], columns[2], columns[3], np.array(stores)))


def sets_of(found: DramPieces) -> list[list[tuple[int, int]]]:
    return [[*found.sets.runs(number)] for number in range(len(found.sets))]


def test_pieces_of_a_store_and_loads() -> None:
    """A store of two rows, a load of parts of both, the same load again, and one elsewhere."""
    found = pieces(
        (10, 20, 2, 10, True),
        (15, 0, 1, 20, False),
        (15, 0, 1, 20, False),
        (100, 0, 1, 5, False),
    )
    assert found.cuts.tolist() == [10, 15, 20, 30, 35, 40]
    assert found.which.tolist() == [0, 1, 1, -1]
    # The store has 10..20 and 30..40; the load 15..35, with the gap.
    assert sets_of(found) == [[(0, 2), (3, 5)], [(1, 4)]]


def test_loads_that_touch_no_store() -> None:
    """One that ends where the store begins, one that begins where it ends, one within a gap."""
    store = (10, 20, 2, 10, True)
    assert pieces((0, 0, 1, 10, False), store).which.tolist() == [-1, 0]
    assert pieces((0, 0, 1, 11, False), store).which.tolist() == [0, 1]
    assert pieces((40, 0, 1, 4, False), store).which.tolist() == [-1, 0]
    assert pieces((39, 0, 1, 4, False), store).which.tolist() == [0, 1]
    # Gaps count as a part of the range, and an instruction without an access as nothing.
    assert pieces((22, 0, 1, 4, False), store).which.tolist() == [0, 1]
    assert pieces((22, 0, 0, 0, False), store).which.tolist() == [-1, 0]


def test_a_long_store_behind_a_short_one() -> None:
    """The load meets the first store, which ends last."""
    found = pieces((0, 0, 1, 100, True), (10, 0, 1, 5, True), (50, 0, 1, 5, False))
    assert found.which.tolist() == [0, 1, 2]
    assert found.cuts.tolist() == [0, 10, 15, 50, 55, 100]
    assert sets_of(found) == [[(0, 5)], [(1, 2)], [(3, 4)]]


def test_without_stores_there_are_no_pieces() -> None:
    found = pieces((0, 0, 1, 10, False), (5, 0, 1, 10, False))
    assert (found.which.tolist(), len(found.sets), found.cuts.tolist()) == ([-1, -1], 0, [])


ROWS = st.tuples(
    *(st.integers(0, 60), st.integers(8, 20), st.integers(1, 3), st.integers(1, 7)), st.booleans()
)


@given(accesses=st.lists(ROWS, min_size=1, max_size=6))
def test_every_piece_is_accessed_as_a_whole(accesses: list[Access]) -> None:
    found = pieces(*accesses)
    ends = [*found.cuts.tolist(), 10**6]
    touched = []
    for first, stride, rows, length, _ in accesses:
        begins = [first + row * stride for row in range(rows)]
        touched.append({begin + byte for begin in begins for byte in range(length)})
    for number, which in enumerate(found.which.tolist()):
        if which >= 0:
            covered = {
                byte
                for begin, end in found.sets.runs(which)
                for byte in range(ends[begin], ends[end])
            }
            assert covered == touched[number]
        else:
            stores = (bytes_ for bytes_, access in zip(touched, accesses, strict=True) if access[4])
            assert not any(touched[number] & other for other in stores)
            assert not accesses[number][4]
