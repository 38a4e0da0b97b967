"""Arrays where vectors like them."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.runtime.aligned_arrays import address_of, aligned_copy, aligned_empty, aligned_size


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (5, 7), (1000, 1000)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "int64"])
def test_new_ones(shape: tuple[int, ...], dtype: str) -> None:
    found = [aligned_empty(shape, dtype) for _ in range(3)]
    for number, array in enumerate(found):
        assert array.shape == shape
        assert array.dtype == dtype
        assert array.size == 0 or array.__array_interface__["data"][0] % 64 == 0
        assert array.flags.c_contiguous
        array[...] = number % 2
    for number, array in enumerate(found):
        assert (array == number % 2).all()


@pytest.mark.parametrize("count", [0, 5])
@pytest.mark.parametrize("writeable", [False, True])
def test_addresses(count: int, writeable: bool) -> None:
    array = np.arange(count + 2, dtype=np.int16)[2:]
    array.flags.writeable = writeable
    assert address_of(array) == array.__array_interface__["data"][0]


def test_copies() -> None:
    array = np.arange(12, dtype=np.int16).reshape(3, 4).T
    copy = aligned_copy(array)
    np.testing.assert_array_equal(copy, array)
    assert copy.flags.c_contiguous
    assert not copy.flags.writeable
    assert not np.shares_memory(copy, array)


def test_sizes() -> None:
    assert [aligned_size(each) for each in (0, 1, 64, 65)] == [0, 64, 64, 128]
