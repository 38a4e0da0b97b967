"""A view is a part of the array itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.base.jit import compiled
from tandem.sim.semantics.view import view
from tests.support.base.compiled import plain


@compiled
def _fill(array: npt.NDArray[np.int64], start: int, count: int, value: int) -> int:
    part = view(array, start, count)
    for place in range(len(part)):
        part[place] = value + place
    return len(part)


def test_views_have_a_start_and_a_length() -> None:
    array = np.arange(6)
    assert plain(view)(array, 2, 3).tolist() == [2, 3, 4]
    assert _fill(array, 2, 3, 9) == 3
    assert array.tolist() == [0, 1, 9, 10, 11, 5]
    assert _fill(array, 6, 0, 9) == 0
    assert plain(view)(array, 5, 1).tolist() == [5]
    assert plain(view)(array, 6, 0).tolist() == []
