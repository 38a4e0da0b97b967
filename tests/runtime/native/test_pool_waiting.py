"""Waiting threads: how long they look, what they sleep on, and who wakes them."""

from __future__ import annotations

from ctypes import addressof, byref

import pytest

from tests.support.runtime.pool_program import Pool, PoolProgram, System

ALL = (1 << 1024) - 1
"""A set of all CPUs that the system's sets can have."""


@pytest.fixture(scope="module")
def linked() -> PoolProgram:
    return PoolProgram()


@pytest.fixture
def program(linked: PoolProgram) -> PoolProgram:
    linked.system = System()
    return linked


@pytest.mark.parametrize(("elapsed", "yields"), [(0, 0), (50_000, 0), (50_001, 1)])
def test_others_get_the_core_after_fifty_microseconds(
    program: PoolProgram, elapsed: int, yields: int
) -> None:
    begun = 7_999_990_000
    program.system.now = begun + elapsed
    assert program.idle(begun) == elapsed
    assert len(program.system.did("sched_yield")) == yields
    # The monotonic clock, which is number 1.
    assert program.system.did("clock_gettime") == [[1]]


@pytest.mark.parametrize("interruptions", [0, 2])
def test_signals_do_not_end_a_sleep(program: PoolProgram, interruptions: int) -> None:
    program.system.interruptions = interruptions
    program.sleep(4096)
    assert program.system.did("sem_wait") == [[4096]] * (interruptions + 1)


@pytest.mark.parametrize(
    ("number", "low", "seen", "is_open"),
    [
        (5, 1 << 16, 4, True),
        (5, 1 << 16, 5, False),
        (5, 1 << 16 | 3, 4, True),
        (5, 0, 4, False),
        (5, 1 << 17 | 3, 4, False),
        ((1 << 31) - 1, 1 << 16, 1, True),
    ],
)
def test_a_gate_is_open_to_a_loop_that_nobody_has_seen(
    program: PoolProgram, number: int, low: int, seen: int, is_open: bool
) -> None:
    pool = Pool(1)
    pool.state.gate = number << 32 | low
    assert program.open_gate(pool.address, seen) == (pool.state.gate if is_open else 0)


def test_a_closed_pool(program: PoolProgram) -> None:
    pool = Pool(1)
    assert not program.closed(pool.address) & 1
    pool.state.closed = 1
    assert program.closed(pool.address) & 1


def test_helpers_follow_the_pool(program: PoolProgram) -> None:
    pool = Pool(3)
    for number, helper in enumerate(pool.helpers):
        assert program.helper(pool.address, number) == addressof(helper)


def test_whether_one_of_the_first_helpers_sleeps(program: PoolProgram) -> None:
    pool = Pool(3)
    assert not program.asleep(pool.address, 3) & 1
    pool.helpers[1].asleep = 1
    assert [program.asleep(pool.address, count) & 1 for count in range(4)] == [0, 0, 1, 1]


def test_those_that_sleep_are_woken(program: PoolProgram) -> None:
    pool = Pool(4)
    for number in (0, 2, 3):
        pool.helpers[number].asleep = 1
    program.wake(pool.address, 3)
    assert program.system.did("sem_post") == [[pool.semaphore(0)], [pool.semaphore(2)]]
    assert [helper.asleep for helper in pool.helpers] == [0, 0, 0, 1]
    assert not program.system.did("sched_setaffinity")


@pytest.mark.parametrize("cpu", [0, 65, 1023])
def test_helpers_wake_on_another_cpu(program: PoolProgram, cpu: int) -> None:
    pool = Pool(2)
    pool.let_all_run()
    pool.helpers[1].asleep, program.system.cpu = 1, cpu
    program.wake(pool.address, 2)
    assert program.system.did("sched_setaffinity") == [[2, 128, ALL ^ 1 << cpu]]
    # The helper may run there again.
    assert bytes(pool.helpers[1].cpus) == b"\xff" * 128


@pytest.mark.parametrize("cpu", [-1, 1024])
def test_a_cpu_that_no_set_has(program: PoolProgram, cpu: int) -> None:
    pool = Pool(1)
    pool.let_all_run()
    program.system.cpu = cpu
    program.place(byref(pool.helpers[0]))
    assert not program.system.asked
