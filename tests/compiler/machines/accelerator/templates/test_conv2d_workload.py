"""The numbers of a convolution's workload, against counts by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.templates.conv2d_workload import (
    Conv2dWorkload,
    RowsWorkload,
)


def workload(
    data: tuple[int, ...] = (2, 3, 9, 7, 1, 16),
    weight: tuple[int, ...] = (4, 3, 3, 2, 16, 16),
    strides: tuple[int, int] = (2, 1),
    padding: tuple[int, ...] = (1, 0, 1, 1),
    dilation: tuple[int, int] = (1, 2),
    groups: int = 1,
) -> Conv2dWorkload:
    return Conv2dWorkload(data, weight, strides, padding, dilation, groups, ())


def test_extents() -> None:
    """11 padded rows in windows of 3 and steps of 2, 8 padded columns in windows that span 3."""
    one = workload()
    assert one.extents == {"oc": 4, "y": 5, "x": 6, "ic": 3}
    assert one.padded == (11, 8)
    assert one.taps == 6


@given(
    count=st.integers(1, 4), axis=st.sampled_from([0, 1]), stride=st.integers(1, 3), data=st.data()
)
def test_input_extent(count: int, axis: int, stride: int, data: st.DataObject) -> None:
    """The rows from the first window's first to the last window's last."""
    kernel, dilation = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    shapes = (1, 1, 40, 40, 1, 8), (1, 1, kernel, kernel, 8, 8)
    one = workload(*shapes, (stride, stride), (0,) * 4, (dilation, dilation))
    rows = {out * stride + tap * dilation for out in range(count) for tap in range(kernel)}
    assert one.input_extent(axis, count) == max(rows) + 1


def test_a_kernel_of_one_tap_skips_rows_between_strides() -> None:
    shapes = (1, 1, 9, 9, 1, 8), (1, 1, 1, 1, 8, 8)
    one = workload(*shapes, (2, 2), (0,) * 4, (1, 1))
    rows, columns = one.loaded_extents(np.array([3]), np.array([3]))
    assert (rows.tolist(), columns.tolist()) == ([3], [5])


@pytest.mark.parametrize(("groups", "own"), [(1, 6), (2, 3), (3, 2), (6, 1), (4, 3)])
def test_spanned_groups(groups: int, own: int) -> None:
    """The most groups of all tiles, each of which begins at a multiple of its size."""
    outputs = groups * own
    one = workload(
        (1, groups, 4, 4, 1, 8), (outputs, 1, 1, 1, 8, 8), (1, 1), (0,) * 4, (1, 1), groups
    )
    assert one.blocks_per_group == own
    for size in range(1, outputs + 1):
        starts = range(0, outputs, size)
        wanted = max(
            len({block // own for block in range(start, min(start + size, outputs))})
            for start in starts
        )
        (found,) = one.spanned_groups(np.array([size])).tolist()
        # A tile that is cut off at the end counts as a whole one.
        assert wanted <= found <= max(wanted, -(-size // own) + 1)
        if outputs % size == 0:
            assert found == wanted


def test_rows_are_pixels_whose_channels_lie_together() -> None:
    rows = RowsWorkload.of(5, 3, 4, (1, 16, 8), ())
    assert rows.extents == {"oc": 4, "y": 1, "x": 5, "ic": 3}
    assert rows.in_dram("n", "c", "y", "x") == ("n", "y", "x", "c")
    assert workload().in_dram("n", "c", "y", "x") == ("n", "c", "y", "x")
