"""Arrays at addresses that are aligned for vector instructions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.element_types import dtype_of
from tandem.runtime.native import ALIGNMENT


def address_of(array: NDArray[Any]) -> int:
    """The address of the first element of a dense array."""
    try:
        # A quarter of the time that NumPy's own ways take. Before Python 3.12 no type is a buffer.
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # read-only, or empty
        return int(array.ctypes.data)


def aligned_size(size: int) -> int:
    """`size` bytes rounded up to a multiple of `ALIGNMENT`."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def aligned_empty(shape: Sequence[int], dtype: str) -> NDArray[Any]:
    """A new array that begins at a multiple of `ALIGNMENT` bytes.

    Raises
    ------
    MemoryError
        If the memory cannot be allocated.
    """
    return aligned_arrays(shape, dtype)()


def aligned_arrays(shape: Sequence[int], dtype: str) -> Callable[[], NDArray[Any]]:
    """A function that makes such arrays, each a new one; it takes a microsecond."""
    kind, extents = dtype_of(dtype), tuple(shape)
    size = prod(shape) * kind.itemsize + ALIGNMENT

    def make() -> NDArray[Any]:
        memory = np.empty(size, np.uint8)
        start = -address_of(memory) % ALIGNMENT
        return np.ndarray(extents, kind, memory, start)

    return make


def aligned_copy(array: NDArray[Any]) -> NDArray[Any]:
    """A copy of `array` in an aligned array, dense and read-only."""
    copy = aligned_empty(array.shape, array.dtype.name)
    copy[...] = array
    copy.flags.writeable = False
    return copy


def with_own_memory(
    arrays: Mapping[str, NDArray[Any]], changed: Collection[str]
) -> dict[str, NDArray[Any]]:
    """The arrays, dense ones, of which those that are to be changed are copied if they are
    read-only, or share memory with another."""
    spans = sorted(
        (start := address_of(array), start + array.nbytes, name)
        for name, array in arrays.items()
        if array.nbytes
    )
    shared: set[str] = set()
    end, last = 0, ""
    for start, own_end, name in spans:
        if start < end:
            shared |= {last, name}
        if own_end > end:
            end, last = own_end, name
    return {
        name: array.copy()
        if name in changed and (name in shared or not array.flags.writeable)
        else array
        for name, array in arrays.items()
    }
