"""Parallel loops: on one thread and several, interrupted, and after the pool has closed."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from compiler.codegen import NativeFunction, ThreadPool, compile_function
from compiler.ir.parser import parse
from runtime.errors import NativeCodeError
from runtime.native.pool import LoopLauncher
from tests.support.native import EXACT, run_text, same

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

        callers = [threading.Thread(target=call, args=(each,)) for each in functions * 2]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(60)
            assert not caller.is_alive()
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


def interrupt_fourth_chunk(monkeypatch: pytest.MonkeyPatch, stopped: bool) -> list[int]:
    """The chunks that were scheduled. With the fourth comes Ctrl-C; until `stopped`, threads wait.

    No clock: how fast the machine is must not matter.
    """
    numbers: list[int] = []
    heard = threading.Event()

    def stop(launcher: LoopLauncher) -> None:
        launcher.stopped = True
        heard.set()

    def schedule() -> Iterator[int]:
        for number in range(1000):
            numbers.append(number)
            if number == 3:
                os.kill(os.getpid(), signal.SIGINT)
            if stopped and number >= 3:
                assert heard.wait(60), "the launcher was not stopped"
            yield number

    # A generator can't be resumed by two threads at once, as a count can.
    lock, chunks = threading.Lock(), schedule()

    def next_chunk() -> int:
        with lock:
            return next(chunks)

    monkeypatch.setattr("runtime.native.pool.count", lambda: iter(next_chunk, -1))
    monkeypatch.setattr("runtime.native.pool.LoopLauncher.stop", stop)
    return numbers


def test_an_interruption_comes_out_when_all_threads_have_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduled = interrupt_fourth_chunk(monkeypatch, stopped=True)
    with ThreadPool(2) as pool:
        function = compile_function(parse(SUMS), EXACT, pool)
        data = np.ones((37, 50), np.float32)
        with pytest.raises(KeyboardInterrupt):
            function(data)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        # There are ten chunks; a thread that asked before the signal arrived gets one.
        assert 4 <= len(scheduled) <= 5

        monkeypatch.undo()  # the pool still works
        same(function(data)[0], np.full(37, 100, np.float32))


def test_a_handler_of_the_users_is_called_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler may continue: all iterations are done."""
    scheduled = interrupt_fourth_chunk(monkeypatch, stopped=False)
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        with ThreadPool(2) as pool:
            function = compile_function(parse(LARGE), EXACT, pool)
            found = function(np.ones(24, np.float32))[0]
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]
    assert len(scheduled) >= 8
    same(found, np.ones((24, 9000), np.float32))


def test_an_error_in_a_callback_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise MemoryError("no memory to count with")

    with ThreadPool(2) as pool:
        function = compile_function(parse(LARGE), EXACT, pool)
        with monkeypatch.context() as patch:
            patch.setattr("runtime.native.pool.count", lambda: iter(refuse, 0))
            with pytest.raises(MemoryError, match="no memory to count with"):
                function(np.ones(24, np.float32))
        same(function(np.ones(24, np.float32))[0][3, :5], np.ones(5, np.float32))


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
from compiler.codegen import CpuTarget, ThreadPool, compile_function
from runtime.native.pool import LoopLauncher
from compiler.ir.parser import parse
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
