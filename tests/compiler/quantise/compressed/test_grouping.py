"""Groups of weights: neighbouring input channels at one position of a kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.compressed.grouping import Grouping

SHAPES = st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple)


def test_groups_of_a_kernel() -> None:
    """Five channels in groups of two: the third group of each position has one."""
    grouping = Grouping((3, 5, 1, 2), 2)
    assert (grouping.positions, grouping.groups) == (2, 3)
    assert grouping.starts.tolist() == [0, 2, 4, 5, 7, 9]
    assert grouping.sizes.tolist() == [2, 2, 1, 2, 2, 1]
    assert grouping.group_of_column.tolist() == [0, 0, 1, 1, 2, 3, 3, 4, 4, 5]


@given(SHAPES, st.integers(1, 7))
def test_rows_and_back(shape: tuple[int, ...], size: int) -> None:
    weights = np.arange(np.prod(shape)).reshape(shape)
    grouping = Grouping(shape, size)
    rows = grouping.rows(weights)
    assert rows.shape == (shape[0], np.prod(shape[1:]))
    assert np.array_equal(grouping.weights(rows), weights)


@given(SHAPES, st.integers(1, 7))
def test_each_weight_has_the_scale_of_its_group(shape: tuple[int, ...], size: int) -> None:
    grouping = Grouping(shape, size)
    numbers = np.arange(shape[0] * grouping.sizes.size).reshape(shape[0], -1)
    scales = grouping.scales(numbers)
    spread = grouping.weights(grouping.spread(numbers))
    assert scales.shape == (shape[0], -(-shape[1] // size), *shape[2:])
    for at in np.ndindex(*shape):
        assert spread[at] == scales[(at[0], at[1] // size, *at[2:])]


@pytest.mark.parametrize(
    ("shape", "size", "text"),
    [
        ((4,), 32, r"weights of shape \(4,\): groups take output and input channels"),
        ((4, 0), 32, r"weights of shape \(4, 0\)"),
        ((4, 8), 0, "groups of 0 weights: at least 1 is needed"),
    ],
)
def test_refusals(shape: tuple[int, ...], size: int, text: str) -> None:
    with pytest.raises(QuantisationError, match=text):
        Grouping(shape, size)
