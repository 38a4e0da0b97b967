"""The memory through which a whole network's native code and its caller speak."""

from __future__ import annotations

from ctypes import Structure, c_int64, c_void_p
from hashlib import sha256

from tandem.runtime.native.pool_state import CallState


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
    results
        Addresses of the results of the function that ended last.
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
        ("results", c_void_p),
    )


def state_version() -> str:
    """A digest of what native code and its caller have to agree on."""
    fields = [
        (kind.__name__, name, getattr(kind, name).offset)
        for kind in (NetworkState, CallState)
        for name, *_ in kind._fields_
    ]
    return sha256(repr(fields).encode()).hexdigest()
