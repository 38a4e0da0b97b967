"""How threads share iterations: the ranges of a loop, and what each thread takes of them."""

from __future__ import annotations

from ctypes import CFUNCTYPE, addressof, byref, c_void_p, cast

import pytest

from tandem.runtime.native.pool_state import LoopState
from tests.support.runtime.pool_program import Pool, PoolProgram, System, Task, loop_of


@pytest.fixture(scope="module")
def linked() -> PoolProgram:
    return PoolProgram()


@pytest.fixture
def program(linked: PoolProgram) -> PoolProgram:
    linked.system = System()
    return linked


@pytest.mark.parametrize(
    ("iterations", "unit", "ranges"),
    [
        (10, 1, [(0, 3), (3, 6), (6, 10)]),
        (2, 1, [(0, 0), (0, 0), (0, 1), (1, 2)]),
        (7, 1, [(0, 7)]),
        # Numbers of units have 31 bits: more iterations are taken two by two, or six by six.
        ((1 << 31) - 1, 1, [(0, (1 << 31) - 1)]),
        (1 << 31, 2, [(0, 1 << 29), (1 << 29, 1 << 30)]),
        (5 << 31, 6, [(0, 1_789_569_707)]),
    ],
)
def test_each_thread_has_a_range(
    program: PoolProgram, iterations: int, unit: int, ranges: list[tuple[int, int]]
) -> None:
    pool, loop = Pool(3), LoopState()
    at = addressof(pool.ranges[0])
    program.describe(byref(loop), 1, 2, 3, iterations, 4, at, len(ranges))
    assert (loop.call, loop.task, loop.closure, loop.shares) == (1, 2, 3, 4)
    assert (loop.iterations, loop.unit) == (iterations, unit)
    assert (loop.ranges, loop.range_count) == (at, len(ranges))
    found = [divmod(each.left, 1 << 32)[::-1] for each in pool.ranges]
    assert found == ranges + [(0, 0)] * (4 - len(ranges))


FIRST_HALF, SECOND_HALF = (0, 8), (8, 16)


@pytest.mark.parametrize(
    ("worker", "chunks"),
    [
        # Half of what is left of the own range, from its front; of the other, from its end.
        (0, [(0, 4), (4, 6), (6, 7), (7, 8), (12, 16), (10, 12), (9, 10), (8, 9)]),
        (1, [(8, 12), (12, 14), (14, 15), (15, 16), (4, 8), (2, 4), (1, 2), (0, 1)]),
        # A thread without one.
        (2, [(4, 8), (2, 4), (1, 2), (0, 1), (12, 16), (10, 12), (9, 10), (8, 9)]),
    ],
)
def test_chunks(program: PoolProgram, worker: int, chunks: list[tuple[int, int]]) -> None:
    pool, task = Pool(2), Task()
    loop = loop_of(pool, task, [FIRST_HALF, SECOND_HALF], 16)
    program.work(byref(loop), worker, False)
    assert task.chunks == [(*chunk, worker) for chunk in chunks]
    assert task.closures == {77}


def test_the_last_unit_may_have_fewer_iterations(program: PoolProgram) -> None:
    pool, task = Pool(0), Task()
    loop = loop_of(pool, task, [(0, 3)], 8, unit=3)
    program.work(byref(loop), 0, False)
    assert task.chunks == [(0, 3, 0), (3, 6, 0), (6, 8, 0)]


def test_one_unit(program: PoolProgram) -> None:
    pool, task = Pool(1), Task()
    loop = loop_of(pool, task, [(3, 11), (11, 12)], 12)
    program.work(byref(loop), 0, True)
    assert task.chunks == [(3, 4, 0)]
    assert pool.ranges[0].left == 11 << 32 | 4


def test_a_call_that_is_stopped(program: PoolProgram) -> None:
    """What has begun ends, and no more begins."""
    pool = Pool(0)

    def stop() -> None:
        pool.call.stopped = 1

    task = Task(stop)
    loop = loop_of(pool, task, [FIRST_HALF], 8)
    program.work(byref(loop), 0, False)
    assert task.chunks == [(0, 4, 0)]
    program.work(byref(loop), 0, False)
    assert task.chunks == [(0, 4, 0)]


@pytest.mark.parametrize(("worker", "polls", "looks"), [(0, 1, 7), (1, 0, 0)])
def test_the_caller_polls(program: PoolProgram, worker: int, polls: int, looks: int) -> None:
    """Ten chunks of 10 ns each; the clock is 910, and a poll is due each 100 ns, next at 1000.

    Behind the first chunk four can follow that take as long as all so far, 20 ns of 80; then it
    looks behind each, and at 1000 polls and looks again.
    """
    pool, polled = Pool(1), []

    def pass_time() -> None:
        program.system.now += 10

    poll = CFUNCTYPE(None)(lambda: polled.append(program.system.now))
    pool.call.poll, pool.call.poll_every = cast(poll, c_void_p).value, 100
    pool.call.next_poll, program.system.now = 1000, 910
    pool.state.shares = 1000
    task = Task(pass_time)
    loop = loop_of(pool, task, [(0, 10)] if worker == 0 else [(0, 0), (0, 10)], 10)
    program.work(byref(loop), worker, False)
    assert task.iterations() == [*range(10)]
    assert polled == [1000] * polls
    assert len(program.system.did("clock_gettime")) == looks
    assert pool.call.next_poll == 1000 + 100 * polls
