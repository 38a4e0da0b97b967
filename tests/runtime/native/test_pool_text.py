"""The program of thread pools: a loop's gate, who waits for whom, and what processors are told."""

from __future__ import annotations

from ctypes import addressof

import pytest

from tandem.runtime.native.pool_text import MOST_HELPERS, SYMBOLS, pool_text
from tests.support.runtime.pool_program import Pool, PoolProgram, System, Task, loop_of

OPEN, CALLER_SLEEPS = 1 << 16, 1 << 17
"""Bits of a gate, whose number begins at bit 32 (`PoolState`)."""


@pytest.fixture(scope="module")
def linked() -> PoolProgram:
    return PoolProgram()


@pytest.fixture
def program(linked: PoolProgram) -> PoolProgram:
    linked.system = System()
    return linked


def launch(program: PoolProgram, pool: Pool, task: Task, iterations: int) -> None:
    program.launch(addressof(pool.call), task.address, 77, iterations)


def test_a_loop_is_open_while_it_runs(program: PoolProgram) -> None:
    pool = Pool(2)
    pool.state.gate = 41 << 32
    seen = []
    task = Task(lambda: seen.append((pool.state.gate, pool.state.busy)))
    launch(program, pool, task, 16)
    # Ranges of five, five and six, of which nobody else takes any.
    assert task.chunks[:3] == [(0, 2, 0), (2, 3, 0), (3, 4, 0)]
    assert task.iterations() == [*range(16)]
    assert {*seen} == {(42 << 32 | OPEN, 1)}
    assert (pool.state.gate, pool.state.busy) == (42 << 32, 0)
    assert not program.system.did("sem_wait")


@pytest.mark.parametrize(("iterations", "busy"), [(1, 0), (9, 1)])
def test_a_loop_of_one_iteration_or_on_a_busy_pool_runs_alone(
    program: PoolProgram, iterations: int, busy: int
) -> None:
    pool = Pool(2)
    pool.state.gate, pool.state.busy = 41 << 32, busy
    gates = []
    task = Task(lambda: gates.append(pool.state.gate))
    launch(program, pool, task, iterations)
    assert task.iterations() == [*range(iterations)]
    assert {*gates} == {41 << 32}
    assert pool.state.busy == busy


@pytest.mark.parametrize("joined", [1, 2, 65535])
def test_a_caller_sleeps_until_the_last_helper_leaves(program: PoolProgram, joined: int) -> None:
    pool = Pool(2)

    def join() -> None:
        pool.state.gate = 1 << 32 | OPEN | joined

    launch(program, pool, Task(join), 3)
    assert program.system.did("sem_wait") == [[pool.left]]
    assert pool.state.gate == 1 << 32 | CALLER_SLEEPS | joined
    assert pool.state.busy == 0


@pytest.mark.parametrize(("joined", "posts"), [(1, 1), (2, 0)])
def test_the_last_helper_that_leaves_wakes_the_caller(
    program: PoolProgram, joined: int, posts: int
) -> None:
    pool = Pool(1)

    def shut() -> None:
        assert pool.state.gate == 5 << 32 | OPEN | 1, "it has joined"
        pool.state.gate, pool.state.closed = 5 << 32 | CALLER_SLEEPS | joined, 1

    task = Task(shut)
    pool.state.loop = loop_of(pool, task, [(0, 0), (3, 4)], 4)
    pool.state.gate, pool.state.spin = 5 << 32 | OPEN, 1 << 60
    program.help(pool.address, 1)
    assert task.chunks == [(3, 4, 1)]
    assert program.system.did("sem_post") == [[pool.left]] * posts
    assert pool.state.gate == 5 << 32 | CALLER_SLEEPS | joined - 1


def test_a_helper_sleeps_when_it_has_looked_for_long(program: PoolProgram) -> None:
    pool = Pool(1)

    def close() -> None:
        assert pool.helpers[0].asleep == 1
        pool.state.closed = 1

    program.system.waited = close
    program.help(pool.address, 1)
    assert program.system.did("sem_wait") == [[pool.semaphore(0)]]


@pytest.mark.parametrize(("nanoseconds", "woken"), [(25, False), (26, True)])
def test_helpers_that_sleep_are_woken_for_loops_that_are_worth_it(
    program: PoolProgram, nanoseconds: int, woken: bool
) -> None:
    """100 ns are worth it: four iterations of more than a quarter of that, by the first of them."""
    pool = Pool(1)

    def pass_time() -> None:
        program.system.now += nanoseconds

    pool.state.worth, pool.helpers[0].asleep = 100, 1
    task = Task(pass_time)
    launch(program, pool, task, 4)
    assert task.iterations() == [*range(4)]
    assert program.system.did("sem_post") == [[pool.semaphore(0)]] * woken
    assert (pool.state.missed, pool.state.ended) == ((0, 0) if woken else (100, 100))


def test_all_helpers_are_woken_to_end(program: PoolProgram) -> None:
    pool = Pool(2)
    for helper in pool.helpers:
        helper.asleep = 1
    program.dismiss(pool.address)
    assert pool.state.closed == 1
    assert program.system.did("sem_post") == [[pool.semaphore(0)], [pool.semaphore(1)]]


@pytest.mark.parametrize(("cpu", "places"), [(1023, 1), (1024, 0), (1100, 0)])
def test_the_cpus_of_a_set(program: PoolProgram, cpu: int, places: int) -> None:
    """1024 bits are 128 bytes."""
    pool = Pool(1)
    pool.let_all_run()
    program.system.cpu = cpu
    program.place(addressof(pool.helpers[0]))
    assert len(program.system.did("sched_setaffinity")) == places


def test_as_many_helpers_as_a_gate_counts() -> None:
    assert MOST_HELPERS == 65535
    assert SYMBOLS == ("launch", "help", "dismiss")


@pytest.mark.parametrize(
    ("triple", "pauses"),
    [
        ("x86_64-unknown-linux-gnu", ["@llvm.x86.sse2.pause()"]),
        ("aarch64-unknown-linux-gnu", ["@llvm.aarch64.hint(i32 1)"]),
        ("riscv64-unknown-linux-gnu", []),
    ],
)
def test_what_a_processor_is_told_while_it_waits(triple: str, pauses: list[str]) -> None:
    text = pool_text(triple)
    known = "@llvm.x86.sse2.pause()", "@llvm.aarch64.hint(i32 1)"
    assert [each for each in known if f"call void {each}" in text] == pauses
    assert "$" not in text
