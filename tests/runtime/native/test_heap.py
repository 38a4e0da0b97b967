"""The heap of a run: an empty one at its begin, and all chunks freed at its end."""

from __future__ import annotations

import ctypes

from tandem.runtime.native.heap import Heap
from tandem.runtime.native.network_state import NetworkState


def used_state() -> NetworkState:
    state = NetworkState()
    state.top = state.end = 8
    state.heap_bytes = state.cells = state.waiting = state.failure = state.failed = 3
    state.chunk = 1
    return state


def test_a_heap_begins_empty() -> None:
    heap, state = Heap(2), used_state()
    heap.begin(state)
    free = (ctypes.c_void_p * 2).from_address(state.free)
    assert [*free] == [None, None]
    assert (state.top, state.end, state.chunks) == (None, None, None)
    assert state.chunk == 65_536
    assert (state.heap_bytes, state.cells, state.waiting) == (0, 0, 0)
    assert (state.failure, state.failed) == (0, 0)
    # What a run left on the lists is gone.
    free[1] = 16
    heap.begin(state)
    assert free[1] is None


def test_chunks_are_freed_and_counted() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    heap, state = Heap(1), NetworkState()
    heap.begin(state)
    # Each chunk begins with the address of the one before.
    first, second = (library.malloc(64) for _ in range(2))
    ctypes.c_void_p.from_address(first).value = None
    ctypes.c_void_p.from_address(second).value = first
    state.chunks, state.heap_bytes, state.cells = second, 128, 5
    heap.end(state)
    assert (heap.cells, heap.bytes, state.chunks) == (5, 128, None)


def test_a_network_without_a_heap_is_left_alone() -> None:
    heap, state = Heap(0), used_state()
    heap.begin(state)
    heap.end(state)
    assert (heap.cells, heap.bytes) == (0, 0)
    assert (state.chunk, state.cells, state.free) == (1, 3, None)
