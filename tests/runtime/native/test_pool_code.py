"""The native code of pools: which iterations run, on which threads, and who waits for whom."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import sizeof
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.runtime.native.pool import ThreadPool
from tandem.runtime.native.pool_code import pool_code
from tandem.runtime.native.pool_state import CallState, HelperState, PoolState
from tests.support.runtime.parallel_loops import a_call, called_together, chunks, launch


@pytest.fixture(params=["spinning", "sleeping"])
def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ThreadPool:
    """A pool of three threads, which look for work, or sleep at once as on too few cores; they wake
    for any loop: iterations may wait for each other."""
    monkeypatch.setattr("tandem.runtime.native.pool._WORTH_WAKING", 0)
    cores = 3 if request.param == "spinning" else 1
    monkeypatch.setattr("tandem.runtime.native.pool.available_threads", lambda: cores)
    return ThreadPool(3)


@given(st.integers(1, 5), st.lists(st.integers(0, 100), min_size=1, max_size=4))
def test_each_iteration_runs_once(threads: int, loops: list[int]) -> None:
    with ThreadPool(threads) as pool:
        for iterations in loops:
            found = chunks(pool, iterations)
            assert all(begin < end for begin, end, _ in found)
            assert all(one[1] == other[0] for one, other in pairwise(found))
            assert sum(end - begin for begin, end, _ in found) == iterations
            assert {worker for *_, worker in found} <= set(range(threads))


def test_chunks_become_smaller() -> None:
    """From the front of the caller's range, from the end of the helper's that does not come."""
    with ThreadPool(2) as pool:
        pool.close()
        sizes = [end - begin for begin, end, _ in chunks(pool, 100)]
    one = [12, 9, 7, 5, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1]
    assert sizes == [*one, *reversed(one)]


def test_all_threads_run_a_loop_at_the_same_time(pool: ThreadPool) -> None:
    """Each thread holds its iteration until the others have theirs, in loop after loop."""
    together = threading.Barrier(3, timeout=60)
    workers: list[int] = []

    def task(begin: int, end: int, worker: int) -> None:
        workers.append(worker)
        together.wait()

    with pool, a_call(pool) as launcher:
        for _ in range(100):
            launch(launcher, task, 3)
            assert sorted(workers) == [0, 1, 2]
            workers.clear()


def test_the_caller_waits_for_helpers_that_have_joined(pool: ThreadPool) -> None:
    """Helpers end their iterations when the caller has none left to run. Each thread has one: of
    fewer, the helpers could take all, and wait for a caller that has none."""
    joined, left = threading.Semaphore(0), threading.Semaphore(0)
    finished: list[int] = []

    def task(begin: int, end: int, worker: int) -> None:
        if worker:
            joined.release()
            assert left.acquire(timeout=60)
        else:
            assert joined.acquire(timeout=60)
            assert joined.acquire(timeout=60)
            left.release(2)
        finished.append(worker)

    with pool, a_call(pool) as launcher:
        for _ in range(50):
            launch(launcher, task, 3)
            assert sorted(finished) == [0, 1, 2]
            finished.clear()


def test_a_loop_within_a_loop_runs_on_its_caller(pool: ThreadPool) -> None:
    """As that of a second caller while the first has the pool."""
    inner: list[tuple[int, int]] = []
    with pool, a_call(pool) as outer, a_call(pool) as other:

        def task(begin: int, end: int, worker: int) -> None:
            thread = threading.get_ident()
            launch(
                other,
                lambda begin, end, worker: inner.append((worker, threading.get_ident() - thread)),
                7,
            )

        launch(outer, task, 2)
    assert inner
    assert {*inner} == {(0, 0)}


def test_a_call_that_is_stopped_runs_no_more(pool: ThreadPool) -> None:
    ran: list[int] = []
    with pool, a_call(pool) as launcher:

        def task(begin: int, end: int, worker: int) -> None:
            CallState.from_address(launcher.address).stopped = 1
            ran.append(end - begin)

        launch(launcher, task, 1000)
        assert len(ran) <= 3  # one chunk of each thread
        assert sum(ran) < 1000
        launch(launcher, task, 5)
        assert len(ran) <= 3
        assert sum(end - begin for begin, end, _ in chunks(pool, 9)) == 9  # another call


def test_a_pool_that_closes_during_a_loop(pool: ThreadPool) -> None:
    """The loop ends as it would; later ones run on the caller."""
    together = threading.Barrier(3, timeout=60)
    with a_call(pool) as launcher:

        def task(begin: int, end: int, worker: int) -> None:
            together.wait()
            pool.close()

        launch(launcher, task, 3)
    assert {worker for *_, worker in chunks(pool, 50)} == {0}


LONG = 1 << 60
"""Nanoseconds that no test waits for."""


@contextmanager
def asleep() -> Iterator[tuple[ThreadPool, PoolState, HelperState]]:
    """A pool whose helper sleeps, and the states of both."""
    with ThreadPool(2) as pool:
        state = PoolState.from_address(pool.address)
        helper = HelperState.from_address(pool.address + sizeof(PoolState))
        state.spin = 0
        pool.start()
        while not helper.asleep:
            time.sleep(0.001)
        yield pool, state, helper


def test_short_loops_wake_nobody() -> None:
    """They are added up, as long as one follows the other."""
    with asleep() as (pool, state, helper):
        state.worth, state.spin = LONG, LONG
        chunks(pool, 9)
        first = state.missed
        assert 0 < first < LONG
        assert helper.asleep
        chunks(pool, 9)
        assert state.missed > first
        state.spin = 0
        state.missed = LONG
        chunks(pool, 9)  # long after the others
        assert helper.asleep
        assert state.missed < LONG


def test_a_loop_wakes_helpers_after_many_short_ones() -> None:
    with asleep() as (pool, state, _):
        state.worth = state.missed = state.spin = LONG
        chunks(pool, 9)
        assert state.missed == 0


def test_a_long_loop_wakes_helpers() -> None:
    """After its first iteration, of a millisecond; all would take longer than 5."""
    with asleep() as (pool, state, helper):
        state.worth = 5_000_000
        woken: list[bool] = []

        def task(begin: int, end: int, worker: int) -> None:
            woken.append(not helper.asleep)
            time.sleep(0.001)

        with a_call(pool) as launcher:
            launch(launcher, task, 50)
        assert woken[0] is False
        assert any(woken)


def test_more_iterations_than_31_bits_count() -> None:
    """Several make a unit, of which the last may have fewer."""
    iterations = (1 << 33) + 3
    with ThreadPool(2) as pool:
        found = chunks(pool, iterations)
    assert found[0][0] == 0
    assert all(one[1] == other[0] for one, other in pairwise(found))
    assert found[-1][1] == iterations


def test_many_callers_at_once(pool: ThreadPool) -> None:
    """Random loops from several threads: each iteration runs once, in the loop that it is of."""
    failures: list[str] = []

    def call(seed: int) -> None:
        numbers = random.Random(seed)
        ran: list[int] = []
        with a_call(pool) as launcher:
            for _ in range(40):
                iterations = numbers.randrange(40)
                launch(launcher, lambda begin, end, _: ran.extend(range(begin, end)), iterations)
                if sorted(ran) != [*range(iterations)]:
                    failures.append(f"{seed}: {ran}")
                ran.clear()

    with pool:
        called_together(call, range(4))
    assert not failures


def test_threads_that_need_the_code_first_get_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that one thread runs is not dropped for that of another."""
    together = threading.Barrier(2, timeout=60)

    def linked(offered: object) -> object:
        time.sleep(0.01)  # the other thread comes meanwhile
        return object()

    monkeypatch.setattr("tandem.runtime.native.pool_code._linked", linked)
    monkeypatch.setattr("tandem.runtime.native.pool_code._kept", [])
    found: list[object] = []

    def ask() -> None:
        together.wait()
        found.append(pool_code())

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found[0] is found[1]
