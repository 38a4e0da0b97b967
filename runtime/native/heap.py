"""The heap of a whole network's native code: chunks of the C library's memory.

Native code takes chunks when it needs them (`NetworkState.chunks`), and returns none: what is in
them is without meaning when the run has ended, or was stopped.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

from tandem.runtime.native.network_state import NetworkState

_FIRST_CHUNK: Final = 1 << 16
"""Bytes of the first chunk; each has twice the size of the one before, up to a limit."""


class Heap:
    """The memory of the cells and calls of a run.

    Parameters
    ----------
    kinds
        How many kinds of memory have a free list (`NetworkObject.kinds`).

    Attributes
    ----------
    cells
        The number of cells that were used when the last run ended: 0 if it came to its end.
    bytes
        The size of the chunks of the last run.
    """

    def __init__(self, kinds: int) -> None:
        self.cells = 0
        self.bytes = 0
        self._kinds = kinds
        self._free = (ctypes.c_void_p * max(kinds, 1))()

    def begin(self, state: NetworkState) -> None:
        """Prepare a state for a run: an empty heap, and no calls that wait."""
        if not self._kinds:
            return
        ctypes.memset(self._free, 0, ctypes.sizeof(self._free))
        state.free = ctypes.addressof(self._free)
        state.top = state.end = state.chunks = None
        state.chunk = _FIRST_CHUNK
        state.heap_bytes = state.cells = state.waiting = 0
        state.failure = state.failed = 0

    def end(self, state: NetworkState) -> None:
        """Free the memory of a run."""
        if not self._kinds:
            return
        self.cells, self.bytes = state.cells, state.heap_bytes
        chunk = state.chunks
        state.chunks = None
        while chunk:
            before = ctypes.c_void_p.from_address(chunk).value
            _free()(ctypes.c_void_p(chunk))
            chunk = before


@cache
def _free() -> Any:
    """The function of the C library that frees memory."""
    found = ctypes.CDLL(None).free
    found.restype = None
    return found
