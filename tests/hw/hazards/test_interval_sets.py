"""Sets of intervals, and the grouping of equal rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.hazards.interval_sets import IntervalSets, group_rows
from tandem.hw.isa.columns import Ints
from tests.support.base.compiled import plain

Group = Callable[[Ints], tuple[Ints, Ints]]


def numbers(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize("group", [group_rows, plain(group_rows)])
@given(data=st.data())
def test_equal_rows_are_one_group(group: Group, data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 4))
    values = st.sampled_from((0, 1, 2, -1, 1 << 31, -(1 << 62), (1 << 62) - 1))
    row = st.lists(values, min_size=width, max_size=width)
    rows = data.draw(st.lists(row, max_size=40))
    firsts, groups = group(np.array(rows, dtype=np.int64).reshape(-1, width))

    distinct = list(dict.fromkeys(map(tuple, rows)))
    assert groups.tolist() == [distinct.index(tuple(each)) for each in rows]
    assert firsts.tolist() == [rows.index(list(each)) for each in distinct]


def test_many_rows() -> None:
    rows = np.stack([np.arange(5000) % 1777 << 40, np.arange(5000) % 2], axis=1)
    firsts, groups = group_rows(rows)
    assert len(firsts) == 2 * 1777
    np.testing.assert_array_equal(rows[firsts[groups]], rows)


def test_sets_are_numbered_through() -> None:
    one = IntervalSets.of(numbers(2, 0), numbers(0, 5), numbers(3, 6))
    other = IntervalSets.of(numbers(1), numbers(8), numbers(9))
    joined = IntervalSets.joined([one, IntervalSets.of(numbers(), numbers(), numbers()), other])
    assert (len(one), len(joined)) == (2, 3)
    assert [list(joined.runs(number)) for number in range(3)] == [[(0, 3), (5, 6)], [], [(8, 9)]]
