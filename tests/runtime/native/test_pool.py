"""Parallel loops: on one thread and several, interrupted, and after the pool has closed."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.cpu.codegen import NativeFunction, ThreadPool, compile_function
from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.pool import LoopLauncher
from tandem.runtime.native.pool_state import HelperState, PoolState
from tests.support.compiler.machines.cpu.native import EXACT, run_text, same
from tests.support.runtime.parallel_loops import (
    a_call,
    called_together,
    chunks,
    launch,
    launch_native,
)

SUMS = """
func f(A: float32[37, 50]) -> (C: float32[37], D: float32[37, 50]):
  for i in 37 parallel:
    alloc t: float32[50]
    for j in 50 vectorized:
      t[j] = A[i, j] * 2.0
    C[i] = 0.0
    for k in 50:
      C[i] = C[i] + t[k]
    for l in 50 parallel:
      D[i, l] = t[l] + float32(i)
"""
LARGE = """
func f(A: float32[24]) -> (C: float32[24, 9000], W: float32[24]):
  for i in 24 parallel:
    alloc t: float32[9000]
    for j in 9000 vectorized:
      t[j] = A[i]
    W[i] = A[i]
    for w in 9000:
      W[i] = sin(W[i])
    for k in 9000 vectorized:
      C[i, k] = t[8999 - k]
"""

LONG = """
func f() -> (W: float32[100000]):
  for i in 100000 parallel:
    W[i] = 1.0
    for w in 6000:
      W[i] = sin(W[i])
"""


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads(threads: int) -> None:
    data = np.random.default_rng(0).integers(-9, 9, (37, 50)).astype(np.float32)
    with ThreadPool(threads) as pool:
        run_text(SUMS, data, pool=pool)


def test_parallel_loops_inside_serial_and_conditional_code() -> None:
    data = np.random.default_rng(0).integers(-9, 9, (6, 5, 8)).astype(np.int32)
    with ThreadPool(2) as pool:
        run_text(
            """
func f(A: int32[6, 5, 8]) -> (C: int32[6, 5, 8]):
  for a in 6:
    alloc row: int32[8]
    for b in 8 vectorized:
      row[b] = int32(a) * A[a, 0, b]
    for i in a parallel:
      if i < 5:
        for j in 8 vectorized:
          C[a, i, j] = A[a, i, j] + row[j]
    for k in 5 - a parallel:
      for l in 8 unrolled:
        C[a, a + k, l] = int32(k)
""",
            data,
            pool=pool,
        )


def test_each_worker_has_its_own_workspace() -> None:
    data = np.arange(24, dtype=np.float32)
    with ThreadPool(2) as pool:
        function = compile_function(parse(LARGE), EXACT, pool)
        for _ in range(20):
            found, _ = function(data)
            same(found, np.repeat(data[:, None], 9000, axis=1))


def test_a_pool_for_several_functions_and_callers() -> None:
    """Functions are called at the same time from several threads."""
    data = np.arange(24, dtype=np.float32)
    wanted = np.repeat(data[:, None], 9000, axis=1)
    failures: list[str] = []
    with ThreadPool(2) as pool:
        functions = [compile_function(parse(LARGE), EXACT, pool) for _ in range(2)]

        def call(function: NativeFunction) -> None:
            for _ in range(10):
                if not np.array_equal(function(data)[0], wanted):
                    failures.append("different")

        called_together(call, functions * 2)
    assert not failures


def test_a_closed_pool_leaves_the_caller_to_work_alone() -> None:
    pool = ThreadPool(3)
    function = compile_function(parse(LARGE), EXACT, pool)
    data = np.arange(24, dtype=np.float32)
    first = function(data)
    pool.close()
    same(function(data)[0], first[0])


def test_threads_end_with_their_pool() -> None:
    before = set(threading.enumerate())
    function = compile_function(parse(LARGE), EXACT, ThreadPool(3))
    function(np.arange(24, dtype=np.float32))
    started = set(threading.enumerate()) - before
    assert len(started) == 2
    del function
    gc.collect()
    for thread in started:
        thread.join(30)
        assert not thread.is_alive()


RAISE = ctypes.cast(ctypes.CDLL(None)["raise"], ctypes.c_void_p).value
"""The C function as a task: its closure is the number of a signal, which each chunk raises."""


@pytest.fixture
def poll_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signals are looked for after each chunk of the caller's."""
    monkeypatch.setattr("tandem.runtime.native.pool._POLL_EVERY", 0)


@pytest.mark.usefixtures("poll_always")
def test_an_interruption_stops_the_call_and_comes_out_at_its_end() -> None:
    ran: list[int] = []
    with ThreadPool(2) as pool:
        launcher = LoopLauncher(pool)
        launcher.begin()
        launch_native(launcher, RAISE, signal.SIGINT, 1)
        launch(launcher, lambda begin, end, worker: ran.append(begin), 8)
        assert not ran
        with pytest.raises(KeyboardInterrupt):
            launcher.end()
        assert len(chunks(pool, 2)) == 2  # the pool still works


@pytest.mark.usefixtures("poll_always")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR1])
def test_a_handler_of_the_users_may_continue(number: int) -> None:
    """All iterations run."""
    seen: list[int] = []
    ran: list[int] = []
    before = signal.signal(number, lambda number, _: seen.append(number))
    try:
        with ThreadPool(2) as pool, a_call(pool) as launcher:
            launch_native(launcher, RAISE, number, 1)
            assert seen == [number]
            launch(launcher, lambda begin, end, worker: ran.extend(range(begin, end)), 8)
    finally:
        signal.signal(number, before)
    assert sorted(ran) == [*range(8)]


@pytest.mark.usefixtures("poll_always")
def test_what_a_handler_of_the_users_raises() -> None:
    def refuse(*_: object) -> None:
        raise TimeoutError("the user's time is up")

    before = signal.signal(signal.SIGUSR1, refuse)
    try:
        with ThreadPool(2) as pool:
            with pytest.raises(TimeoutError, match="time is up"), a_call(pool) as launcher:
                launch_native(launcher, RAISE, signal.SIGUSR1, 1)
            with pytest.raises(TimeoutError, match="time is up"), a_call(pool) as launcher:
                launch_native(launcher, RAISE, signal.SIGUSR1, 1)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_ctrl_c_during_a_function() -> None:
    """A function that would run for minutes is interrupted when it has begun."""
    out = np.zeros(100_000, np.float32)

    def interrupt() -> None:
        while not out[0]:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPool(2) as pool:
        function = compile_function(parse(LONG), EXACT, pool)
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            function(out=(out,))
        thread.join()
    assert not out[-1]


def test_threads_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller does all the work, until there are threads."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with ThreadPool(3) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            assert {worker for *_, worker in chunks(pool, 50)} == {0}
        before = {*threading.enumerate()}
        chunks(pool, 50)
        assert len({*threading.enumerate()} - before) == 2


def test_a_pool_that_never_ran_has_no_threads() -> None:
    before = {*threading.enumerate()}
    with ThreadPool(3):
        assert {*threading.enumerate()} <= before


def test_a_pool_ends_with_its_last_function() -> None:
    """Without the garbage collector: nothing refers to itself."""
    function = compile_function(parse(LARGE), EXACT, ThreadPool(2))
    function(np.arange(24, dtype=np.float32))
    pool = weakref.ref(function.pool)
    gc.disable()
    try:
        del function
        assert pool() is None
    finally:
        gc.enable()


def test_on_another_thread_than_the_main_one() -> None:
    found: list[object] = []
    with ThreadPool(2) as pool:
        function = compile_function(parse(LARGE), EXACT, pool)
        thread = threading.Thread(
            target=lambda: found.append(function(np.ones(24, np.float32))[0].sum())
        )
        thread.start()
        thread.join(60)
    assert found == [24 * 9000]


def test_a_pool_after_a_fork() -> None:
    """Threads do not survive a fork; the caller does all the work then."""
    code = f"""
import os, numpy as np
from tandem.compiler.machines.cpu.codegen import CpuTarget, ThreadPool, compile_function
from tandem.compiler.ir.parser import parse
function = compile_function(parse({LARGE!r}), CpuTarget.host(), ThreadPool(2))
data = np.arange(24, dtype=np.float32)
wanted = function(data)[0]
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(function(data)[0], wanted) else 3)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_at_least_one_thread() -> None:
    with pytest.raises(NativeCodeError, match="not 0"):
        ThreadPool(0)


def test_more_threads_than_a_gate_counts() -> None:
    with pytest.raises(NativeCodeError, match="at most 65535 threads, not 65536"):
        ThreadPool(65536)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="there is one CPU")
def test_a_helper_wakes_on_another_cpu_than_its_caller_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.runtime.native.pool._WORTH_WAKING", 0)
    allowed, before = os.sched_getaffinity(0), {*threading.enumerate()}
    with ThreadPool(2) as pool:
        chunks(pool, 2)
        (helper,) = {*threading.enumerate()} - before
        thread = helper.native_id
        assert thread is not None
        state = HelperState.from_address(pool.address + ctypes.sizeof(PoolState))
        for _ in range(5):
            while not state.asleep:
                time.sleep(0.001)
            chunks(pool, 2)
            left = os.sched_getaffinity(thread)
            assert left < allowed
            assert len(left) == len(allowed) - 1
        assert os.sched_getaffinity(0) == allowed
