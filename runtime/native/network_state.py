"""The memory through which a whole network's native code and its caller speak."""

from __future__ import annotations

from ctypes import Structure, c_int64, c_void_p
from enum import Enum
from hashlib import sha256
from typing import Final

from tandem.runtime.native.pool_state import CallState

POLL_AFTER: Final = 1_000
"""Loops and calls that begin between two looks at the clock: some microseconds, or a tenth of a
second where values of a megabyte are moved."""


class Failure(Enum):
    """Why a run ended before its results were there."""

    CALLS = 1
    """More than `MAX_CALLS` calls wait for results."""
    FORM = 2
    """A cell is read that has another form."""
    MEMORY = 3
    """There is no memory for a cell or for the frame of a call."""


class NetworkState(Structure):
    """A run of a network; the only argument of its native code, which finds fields by offsets.

    Attributes
    ----------
    slots
        Addresses of kernels and of tensors outside the arena (`NetworkObject`).
    workspace
        Memory that is as large as the largest workspace of a kernel.
    launch
        The last argument of kernels: the address of a `CallState`, or 0 for serial loops.
    frames
        Memory for the frames of all functions.
    times, counts
        Of each step, in the order of the manifest: nanoseconds, and how often it ran. Code adds to
        them.
    call
        The address of a `CallState`, whose `poll` is called between steps when it is time.
    clock
        The number of the system's clock (`clock_gettime`) that tells the time of steps.
    last
        The time at which the last step ended.
    next
        The frame of a function that is to run next.
    spare
        The other frame of its region.
    results
        Addresses of the results of the function that ended last; of those that refer to cells the
        cells, with a use of each.
    waiting
        The number of calls that wait for the result of another.
    until_poll
        How often loops and calls may begin before the clock tells whether it is time for `poll`.
    failure, failed
        The number of a `Failure`, or 0, and that of the function that was called.
    free
        Addresses of the free memory of each kind: cells of each form, then regions of each
        function.
    top, end
        What is left of the last chunk of memory.
    chunks
        The last chunk, which begins with the address of the one before.
    chunk
        The size of the next chunk.
    heap_bytes
        The size of all chunks.
    cells
        The number of cells that are used.
    """

    _fields_ = (
        ("slots", c_void_p),
        ("workspace", c_void_p),
        ("launch", c_void_p),
        ("frames", c_void_p),
        ("times", c_void_p),
        ("counts", c_void_p),
        ("call", c_void_p),
        ("clock", c_int64),
        ("last", c_int64),
        ("next", c_void_p),
        ("spare", c_void_p),
        ("results", c_void_p),
        ("waiting", c_int64),
        ("until_poll", c_int64),
        ("failure", c_int64),
        ("failed", c_int64),
        ("free", c_void_p),
        ("top", c_void_p),
        ("end", c_void_p),
        ("chunks", c_void_p),
        ("chunk", c_int64),
        ("heap_bytes", c_int64),
        ("cells", c_int64),
    )


def state_version() -> str:
    """A digest of what native code and its caller have to agree on."""
    fields = [
        (kind.__name__, name, getattr(kind, name).offset)
        for kind in (NetworkState, CallState)
        for name, *_ in kind._fields_
    ]
    return sha256(repr(fields).encode()).hexdigest()
