"""The heap of a run: an empty one at its begin, and all chunks freed at its end."""

from __future__ import annotations

import ctypes

import pytest

from tandem.runtime.native import heap
from tandem.runtime.native.heap import Heap
from tandem.runtime.native.network_state import NetworkState


def used_state() -> NetworkState:
    state = NetworkState()
    state.top = state.end = 8
    state.heap_bytes = state.cells = state.waiting = state.failure = state.failed = 3
    state.chunk = 1
    return state


def test_a_heap_begins_empty() -> None:
    own, state = Heap(2), used_state()
    own.begin(state)
    free = (ctypes.c_void_p * 2).from_address(state.free)
    assert [*free] == [None, None]
    assert (state.top, state.end, state.chunks) == (None, None, None)
    assert state.chunk == 65_536
    assert (state.heap_bytes, state.cells, state.waiting) == (0, 0, 0)
    assert (state.failure, state.failed) == (0, 0)
    # What a run left on the lists is gone.
    free[1] = 16
    own.begin(state)
    assert free[1] is None


def test_chunks_are_freed_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    freed = list[int | None]()
    monkeypatch.setattr(heap, "_free", lambda: lambda chunk: freed.append(chunk.value))
    own, state = Heap(1), NetworkState()
    own.begin(state)
    # Each chunk begins with the address of the one before.
    first, second = (ctypes.c_void_p * 8)(), (ctypes.c_void_p * 8)()
    places = [ctypes.addressof(chunk) for chunk in (first, second)]
    second[0] = places[0]
    state.chunks, state.heap_bytes, state.cells = places[1], 128, 5
    own.end(state)
    assert freed == [places[1], places[0]]
    assert (own.cells, own.bytes, state.chunks) == (5, 128, None)


def test_a_network_without_a_heap_is_left_alone() -> None:
    own, state = Heap(0), used_state()
    own.begin(state)
    own.end(state)
    assert (own.cells, own.bytes) == (0, 0)
    assert (state.chunk, state.cells, state.free) == (1, 3, None)
