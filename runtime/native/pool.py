"""Threads that run the parallel loops of native functions.

The calling thread runs iterations too. Each thread has a range of them, and when it has run these
it takes of the others', in chunks. All of a loop is native code (`runtime.native.pool_code`).
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Iterator
from ctypes import c_void_p, sizeof
from time import monotonic_ns

from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.pool_code import PoolCode, pool_code
from tandem.runtime.native.pool_state import (
    CACHE_LINE,
    CPU_SET_BYTES,
    CallState,
    HelperState,
    PoolState,
    RangeState,
)
from tandem.runtime.native.pool_text import MOST_HELPERS
from tandem.runtime.native.processor import available_threads

_SPIN = 200_000
"""Nanoseconds that an idle helper looks for the next loop before it sleeps: longer than Python
takes from one kernel of a network to the next."""
_POLL_EVERY = 20_000_000
"""Nanoseconds between two polls of a call: nobody notices that Ctrl-C comes so late."""
_WORTH_WAKING = 50_000
"""Nanoseconds of loops for which helpers are woken: as long as it takes until one comes."""
_SHARES = 4
"""A thread takes one part in so many of what is left of a range."""
_POLL_TYPE = ctypes.CFUNCTYPE(None)


class ThreadPool:
    """A pool of `threads` threads, including the calling one; helpers start when first needed.

    A pool may be shared by functions and by threads that call them, and is a context manager. While
    it runs a loop for one thread, loops of other threads run on these alone. After `close`,
    functions still run, on the calling thread alone. An idle pool uses no processor time.
    """

    def __init__(self, threads: int) -> None:
        if threads < 1:
            raise NativeCodeError(f"a pool has at least the calling thread, not {threads} threads")
        if threads > MOST_HELPERS:
            raise NativeCodeError(f"a pool has at most {MOST_HELPERS} threads, not {threads}")
        self.threads = threads
        self._starting = threading.Lock()
        self._memory = PoolMemory(threads - 1)
        self._finalizer = weakref.finalize(self, self._memory.close)

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the threads."""
        self._finalizer()

    @property
    def address(self) -> int:
        """The address of the `PoolState`, valid as long as this object."""
        return self._memory.address

    def start(self) -> None:
        """Start the helpers that have not started; where the system has no threads left, those
        that there are do the work."""
        memory = self._memory
        if memory.started == self.threads - 1 or not self._finalizer.alive:
            return
        with self._starting:
            memory.code = pool_code()
            while memory.started < self.threads - 1:
                worker = memory.started + 1
                name = f"compiled-{worker}"
                thread = threading.Thread(
                    target=_help, args=(memory, memory.code, worker), name=name, daemon=True
                )
                memory.started += 1  # before it may sleep, so that `close` wakes it
                try:
                    thread.start()
                except RuntimeError:
                    memory.started -= 1
                    return


class PoolMemory:
    """The memory of a pool, which lives as long as one of its threads.

    Attributes
    ----------
    address
        The address of the `PoolState`.
    started
        The number of helpers that have started.
    code
        What they run; None until one starts. Nothing is linked when a pool ends, which it may
        do within any other code, by garbage collection.
    """

    def __init__(self, helpers: int) -> None:
        self.started = 0
        self.code: PoolCode | None = None
        size = sizeof(PoolState) + helpers * sizeof(HelperState)
        size += (helpers + 1) * sizeof(RangeState)
        self._bytes = ctypes.create_string_buffer(size + CACHE_LINE)  # all zero
        self.address = -(-ctypes.addressof(self._bytes) // CACHE_LINE) * CACHE_LINE
        self._state = PoolState.from_address(self.address)
        self._state.helpers = helpers
        self._state.shares = _SHARES
        self._state.worth = _WORTH_WAKING
        # To look for work on the core that another thread needs would delay that one.
        self._state.spin = _SPIN if helpers < available_threads() else 0
        self._initialise(self.address + PoolState.left.offset)
        for helper in range(helpers):
            self._initialise(self._helper(helper) + HelperState.semaphore.offset)

    def _helper(self, index: int) -> int:
        """The address of a `HelperState`."""
        return self.address + sizeof(PoolState) + index * sizeof(HelperState)

    def _initialise(self, semaphore: int) -> None:
        """Make a semaphore of threads, which nobody has posted."""
        if ctypes.CDLL(None).sem_init(c_void_p(semaphore), 0, 0):
            raise NativeCodeError("a thread pool needs semaphores, which this system lacks")

    def enter(self, worker: int) -> None:
        """Say which thread is this helper, and where it may run, if callers shall keep it off
        their CPU."""
        cpus = os.sched_getaffinity(0)
        if self._state.spin and len(cpus) > 1 and max(cpus) < 8 * CPU_SET_BYTES:
            helper = HelperState.from_address(self._helper(worker - 1))
            for cpu in cpus:
                helper.cpus[cpu // 8] |= 1 << cpu % 8
            helper.thread = threading.get_native_id()

    def close(self) -> None:
        """End the helpers, and those that start later."""
        self._state.closed = 1
        if self.code is not None:
            self.code.dismiss(self.address)


def _help(memory: PoolMemory, code: PoolCode, worker: int) -> None:
    memory.enter(worker)
    code.help(memory.address, worker)


class LoopLauncher:
    """Launches the parallel loops of a call of a native function, and then of another call.

    Parameters
    ----------
    parallel
        False for a call whose loops are all serial, which needs no helpers and no code of pools.

    Attributes
    ----------
    address
        The native function's last argument.
    """

    def __init__(self, pool: ThreadPool, *, parallel: bool = True) -> None:
        self.pool = pool
        self._parallel = parallel
        self._errors: list[BaseException] = []
        launch = pool_code().launch if parallel else None
        self._state = CallState(launch=launch, pool=pool.address)
        self._state.poll_every = _POLL_EVERY
        polls = _polls(self._state, self._errors)
        next(polls)
        self._poll = _POLL_TYPE(polls.__next__)
        self._state.poll = ctypes.cast(self._poll, c_void_p)
        self.address = ctypes.addressof(self._state)

    def begin(self) -> None:
        """Prepare for a call."""
        if self._parallel:
            self.pool.start()
        self._state.next_poll = monotonic_ns() + self._state.poll_every

    def end(self) -> None:
        """Raise what a signal handler raised during the call, as Ctrl-C does: iterations that had
        not begun were skipped, the outputs are invalid, and this launcher is not used again."""
        if self._errors:
            raise self._errors.pop()


def _polls(state: CallState, errors: list[BaseException]) -> Iterator[None]:
    """At each `next`, Python runs the handlers of signals that have arrived, if on the main thread;
    what they raise stops the call and is added to `errors`.

    A C function cannot let an exception through, and a Python function in its place runs handlers
    before its first line; a generator runs them within its `try`.
    """
    while True:
        try:
            while True:
                yield
        except GeneratorExit:
            return
        except BaseException as error:
            state.stopped = 1
            errors.append(error)
