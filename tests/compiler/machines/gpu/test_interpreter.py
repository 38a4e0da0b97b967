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
