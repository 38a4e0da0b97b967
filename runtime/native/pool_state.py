"""The memory that threads share: of a pool, of a parallel loop, and of a call of a function.

Native code finds the fields by their offsets (`runtime.native.pool_code`).
"""

from __future__ import annotations

from ctypes import Structure, c_char, c_int32, c_int64, c_uint8, c_void_p

CACHE_LINE = 64
"""Bytes that cores pass to each other at once: what different threads write is that far apart."""


class CallState(Structure):
    """A call of a native function; the function's last argument, and what its loops launch with.

    Attributes
    ----------
    launch
        The address of native code that runs a parallel loop: `launch(call, task, closure, count)`.
    pool
        The address of the `PoolState`.
    poll
        The address of a C function without parameters, which the calling thread calls between
        chunks of iterations when `next_poll` has come.
    next_poll, poll_every
        In nanoseconds; `next_poll` is a time of the monotonic clock.
    stopped
        Unless 0, iterations that have not begun are skipped, in later loops too.
    """

    _fields_ = (
        ("launch", c_void_p),
        ("pool", c_void_p),
        ("poll", c_void_p),
        ("next_poll", c_int64),
        ("poll_every", c_int64),
        ("stopped", c_int64),
    )


class RangeState(Structure):
    """The iterations of a loop that one thread is to run, from the front; threads that have run
    their own take of it from the back.

    Attributes
    ----------
    left
        In units of `LoopState.unit`: the first one that nobody has taken (low 32 bits), and the one
        after the last of these (high 32 bits).
    """

    _fields_ = (("left", c_int64), ("_apart", c_char * (CACHE_LINE - 8)))


class LoopState(Structure):
    """A parallel loop that runs.

    Attributes
    ----------
    iterations, unit
        Their number, and how many of them are taken together: 1, but where 31 bits cannot count
        them.
    ranges, range_count
        The first `RangeState`, and how many follow each other: of the caller, of helper 1, ...
    shares
        A thread takes one part in so many of what is left of a range, or one unit.
    """

    _fields_ = (
        ("call", c_void_p),
        ("task", c_void_p),
        ("closure", c_void_p),
        ("iterations", c_int64),
        ("unit", c_int64),
        ("ranges", c_void_p),
        ("range_count", c_int64),
        ("shares", c_int64),
    )


CPU_SET_BYTES = 128
"""Bytes of the system's sets of CPUs (`cpu_set_t`)."""


class HelperState(Structure):
    """A helper thread of a pool.

    Attributes
    ----------
    asleep
        Whether it sleeps. Who sets it from 1 to 0 posts the semaphore, unless it is the helper
        itself.
    thread
        The system's number of the thread; 0 if it may wake on its caller's CPU.
    semaphore
        What it sleeps on (`sem_t`).
    cpus
        Where it may run (`cpu_set_t`): two CPUs or more, if `thread` is not 0.
    """

    _fields_ = (
        ("asleep", c_int32),
        ("thread", c_int32),
        ("_apart", c_char * (CACHE_LINE - 8)),
        ("semaphore", c_char * CACHE_LINE),
        ("cpus", c_uint8 * CPU_SET_BYTES),
    )


class PoolState(Structure):
    """A pool; in memory follow its helpers' states, then a range of the caller and of each helper.

    Attributes
    ----------
    gate
        From the highest bit: a number of the loop that runs or ran last (32 bits), unused bits,
        whether its caller sleeps until the last helper leaves (bit 17), whether helpers may join it
        (bit 16), the number of helpers that have joined and not left (16 bits).
    busy
        1 while a thread launches a loop on the pool.
    missed, ended
        The nanoseconds of loops that one after the other, less than `spin` apart, ran while a
        helper slept, and when the last of them ended.
    closed
        Unless 0, the helpers end.
    helpers
        The number of helpers.
    spin
        Nanoseconds that a thread looks for what it waits for before it sleeps.
    worth
        The nanoseconds of loops for which helpers are woken.
    shares
        Of each loop, as in `LoopState`.
    left
        The semaphore on which the caller sleeps until the last helper leaves.
    loop
        The loop that runs.
    """

    _fields_ = (
        ("gate", c_int64),
        ("_apart", c_char * (CACHE_LINE - 8)),
        ("busy", c_int32),
        ("_aligned", c_int32),
        ("missed", c_int64),
        ("ended", c_int64),
        ("_callers", c_char * (CACHE_LINE - 24)),
        ("closed", c_int32),
        ("_constant", c_int32),
        ("helpers", c_int64),
        ("spin", c_int64),
        ("worth", c_int64),
        ("shares", c_int64),
        ("_rest", c_char * (CACHE_LINE - 40)),
        ("left", c_char * CACHE_LINE),
        ("loop", LoopState),
    )
