"""The interpreter of launches: barriers, orders, and what shows without a barrier."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import IRError, LoweringError
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.gpu.interpreter import Order, run_launch
from tandem.compiler.machines.gpu.launch import INTRINSICS


def launch(body: str) -> PrimFunc:
    """A launch of two blocks of four threads, with a buffer S that a block shares."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return parse(
        f"""func f(A: int32[8]) -> (C: int32[8]):
  for gpu.block in 2 blocks:
    alloc S: int32[4] @ shared
    for gpu.thread in 4 threads:
      alloc near: int32[] @ local
{lines}
""".replace("      alloc near", "        alloc near"),
        INTRINSICS,
    )


DATA = np.arange(8, dtype=np.int32)
STORE = "S[gpu.thread] = A[gpu.block * 4 + gpu.thread]\n"
REVERSED = "C[gpu.block * 4 + gpu.thread] = S[3 - gpu.thread]\n"


@pytest.mark.parametrize("order", Order)
def test_threads_wait(order: Order) -> None:
    (found,) = run_launch(launch(f"{STORE}invoke barrier()\n{REVERSED}"), [DATA], order)
    assert found.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


@pytest.mark.parametrize("order", Order)
def test_a_missing_barrier_shows(order: Order) -> None:
    with pytest.raises(IRError, match=r"S\[\d\] .* is read before it is written"):
        run_launch(launch(STORE + REVERSED), [DATA], order)


@pytest.mark.parametrize("order", Order)
def test_memory_of_one_thread(order: Order) -> None:
    body = f"near[] = int32(gpu.thread)\n{STORE}invoke barrier()\n"
    body += "C[gpu.block * 4 + gpu.thread] = near[] * 10 + S[0]"
    (found,) = run_launch(launch(body), [DATA], order)
    assert found.tolist() == [0, 10, 20, 30, 4, 14, 24, 34]


def test_different_barriers() -> None:
    body = f"{STORE}if gpu.thread < 2:\n  invoke barrier()\n{REVERSED}"
    with pytest.raises(IRError, match="block 0: not all threads come to the same barrier"):
        run_launch(launch(body), [DATA], Order.FORWARDS)


def test_incomplete() -> None:
    with pytest.raises(IRError, match=r"not complete: C\[4\]"):
        run_launch(launch("C[gpu.thread] = 1"), [DATA], Order.FORWARDS)


def test_other_programs() -> None:
    with pytest.raises(LoweringError, match="is no launch"):
        run_launch(parse("func f() -> (C: int32[]):\n  C[] = 1\n"), [], Order.FORWARDS)


LAST = "S[0] = int32(gpu.thread)\ninvoke barrier()\nC[gpu.block * 4 + gpu.thread] = S[0]\n"
"""The result is the number of the thread that runs last."""
AGAIN = f"S[1] = int32(gpu.thread)\ninvoke barrier()\n{LAST}"
"""The same behind another barrier."""
LAST_BLOCK = "C[gpu.thread] = int32(gpu.block)\nC[4 + gpu.thread] = 0\n"
COUNT = (
    "if gpu.thread < 1:\n  S[0] = 0\ninvoke barrier()\nS[0] = S[0] + 1\ninvoke barrier()\n"
    "C[gpu.block * 4 + gpu.thread] = S[0]\n"
)
"""Threads that count themselves, and do not wait for each other."""


def results(body: str, order: Order, seed: int = 0) -> list[int]:
    (found,) = run_launch(launch(body), [DATA], order, seed)
    numbers: list[int] = found.tolist()
    return numbers


@pytest.mark.parametrize("body", [LAST, AGAIN])
def test_threads_run_in_their_order(body: str) -> None:
    assert results(body, Order.FORWARDS) == [3] * 8
    assert results(body, Order.BACKWARDS) == [0] * 8
    drawn = [results(body, Order.INTERLEAVED, seed) for seed in range(24)]
    assert {each[0] for each in drawn} == {each[7] for each in drawn} == {0, 1, 2, 3}
    assert drawn == [results(body, Order.INTERLEAVED, seed) for seed in range(24)]


def test_blocks_run_in_their_order() -> None:
    assert results(LAST_BLOCK, Order.FORWARDS) == [1] * 4 + [0] * 4
    assert results(LAST_BLOCK, Order.BACKWARDS) == [0] * 8
    drawn = {results(LAST_BLOCK, Order.INTERLEAVED, seed)[0] for seed in range(12)}
    assert drawn == {0, 1}


def test_others_run_between_a_read_and_a_write() -> None:
    """So that what is counted is lost; in the other orders a thread runs to the barrier."""
    for order in (Order.FORWARDS, Order.BACKWARDS):
        assert results(COUNT, order) == [4] * 8
    counts = {results(COUNT, Order.INTERLEAVED, seed)[0] for seed in range(24)}
    assert min(counts) < 4
    assert counts <= {1, 2, 3, 4}


@pytest.mark.parametrize("order", Order)
def test_a_block_knows_nothing_of_another_s_memory(order: Order) -> None:
    body = f"if gpu.block < 1:\n  {STORE}invoke barrier()\n{REVERSED}"
    with pytest.raises(IRError, match=r"S\[\d\] .* is read before it is written"):
        run_launch(launch(body), [DATA], order)


def test_threads_that_end_before_a_barrier() -> None:
    body = "if 2 < gpu.thread + gpu.block:\n  invoke barrier()\nC[gpu.block * 4 + gpu.thread] = 0"
    with pytest.raises(IRError, match="block 0: not all threads come to the same barrier"):
        run_launch(launch(body), [DATA], Order.FORWARDS)
    with pytest.raises(IRError, match="block 1: not all threads come to the same barrier"):
        run_launch(launch(body), [DATA], Order.BACKWARDS)
