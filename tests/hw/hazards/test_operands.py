"""The elements that micro-ops access in two loops, compared with the loops themselves."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.hazards.operands import reached_elements
from tandem.hw.isa.columns import Ints
from tests.support.base.compiled import plain

Function = Callable[[Ints, int, int, int, int, int], Ints]


@pytest.mark.parametrize("function", [reached_elements, plain(reached_elements)])
@given(
    indices=st.lists(st.integers(0, 20), min_size=1, max_size=5),
    counts=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    factors=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    spare=st.integers(-2, 3),
)
def test_reached_elements(
    function: Function,
    indices: list[int],
    counts: tuple[int, int],
    factors: tuple[int, int],
    spare: int,
) -> None:
    named = {
        index + outer * factors[0] + inner * factors[1]
        for index in indices
        for outer in range(counts[0])
        for inner in range(counts[1])
    }
    depth = max(max(named) + 1 + spare, 1)
    runs = function(np.array(indices, dtype=np.int64), *counts, *factors, depth).tolist()
    if max(named) >= depth:
        assert runs == []
        return
    assert [element for begin, end in runs for element in range(begin, end)] == sorted(named)
    assert all(end < begin for (_, end), (begin, _) in pairwise(runs))


def test_loops_that_stay_in_place_cost_nothing() -> None:
    """16383 iterations twice: as many elements as the micro-ops name, and no more steps."""
    runs = reached_elements(np.array([3, 4, 9], dtype=np.int64), 16383, 16383, 0, 0, 2048)
    assert runs.tolist() == [[3, 5], [9, 10]]
