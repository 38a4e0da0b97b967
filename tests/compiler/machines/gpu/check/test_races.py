"""The checker of races: what it finds, and what it does not take for a race."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.gpu.check.races import RaceError, check_races, period_of
from tandem.compiler.machines.gpu.launch import INTRINSICS


def check(body: str, blocks: int = 2, threads: int = 4) -> None:
    """Check a launch with a buffer S that a block shares."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    check_races(
        parse(
            f"""func f(A: int32[8], K: int64[4]) -> (C: int32[8]):
  for gpu.block in {blocks} blocks:
    alloc S: int32[8] @ shared
    for gpu.thread in {threads} threads:
{lines}
""",
            INTRINSICS,
        )
    )


WRITE = "S[gpu.thread] = A[gpu.thread]\n"
WAIT = "invoke barrier()\n"
OUT = "C[gpu.block * 4 + gpu.thread] = "

LEGAL = {
    "own element": f"{WRITE}{OUT}S[gpu.thread]",
    "barrier": f"{WRITE}{WAIT}{OUT}S[3 - gpu.thread]",
    "two loops": f"for i in 2:\n  {WRITE}  {WAIT}  {OUT}S[3 - gpu.thread]\n  {WAIT}",
    "slots": f"for i in 6:\n  S[i % 2 * 4 + gpu.thread] = 1\n  {WAIT}  {OUT}S[i % 2 * 4]",
    "a place each": f"for i in 2:\n  S[i * 4 + gpu.thread] = 1\n{WAIT}{OUT}S[7 - gpu.thread]",
    "read by all": f"{OUT}A[0] + A[gpu.thread]",
    "condition": f"if gpu.thread < 1:\n  S[0] = 1\n{WAIT}{OUT}S[0]",
    "data": f"{WRITE}{WAIT}{OUT}S[K[gpu.thread] % 4]",
    "guarded index": f"{WRITE}{WAIT}{OUT}select(gpu.thread < 3, S[gpu.thread + 5], 0)",
}
RACES = {
    "an element of S is read while another": f"{WRITE}{OUT}S[3 - gpu.thread]",
    "an element of S is written while another": f"{WRITE}{WAIT}{OUT}S[0]\nS[gpu.thread] = 1",
    "at i = 1": f"for i in 2:\n  {WRITE}  {WAIT}  {OUT}S[3 - gpu.thread]",
    "written while another thread may": f"S[gpu.thread // 2] = 1\n{OUT}0",
    "read while another thread may access it": f"{WRITE}{OUT}S[K[gpu.thread] % 4]",
    "several blocks access an element of C": "C[gpu.thread] = 0",
    r"S\[8\] lies outside": f"S[gpu.thread + 5] = 1\n{OUT}0",
    "a barrier under a condition": f"if gpu.thread < 2:\n  {WAIT}{OUT}0",
    "a barrier in the loop i, which may": f"for i in gpu.thread:\n  {WAIT}{OUT}0",
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal(name: str) -> None:
    check(LEGAL[name])


@pytest.mark.parametrize("message", RACES)
def test_races(message: str) -> None:
    with pytest.raises(RaceError, match=message):
        check(RACES[message])


def test_global_memory_of_one_block() -> None:
    exchange = f"C[gpu.thread] = 1\n{WAIT}C[4 + gpu.thread] = C[3 - gpu.thread]"
    check(exchange, blocks=1)
    with pytest.raises(RaceError, match="several blocks access an element of C"):
        check(exchange)


def test_periods() -> None:
    i, j = Var("i"), Var("j")
    assert period_of(j + 1, "i") == 1
    assert period_of(i % index(2) * 8 + j, "i") == 2
    assert period_of(i % index(2) + (i + 1) % index(3), "i") == 6
    assert period_of(i % index(2) + i, "i") is None
    assert period_of(i // index(2) % index(2), "i") is None
