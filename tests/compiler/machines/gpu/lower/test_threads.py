"""Loops over threads as what one thread does."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.machines.gpu.lower.threads import threaded

HEAD = "func C(A: float32[32]) -> (C: float32[4, 8]):\n"


def body(lines: str) -> str:
    """What a thread does, as text."""
    made = threaded("C", parse(HEAD + lines).body)
    return text(made.body)


def test_the_documented_example() -> None:
    made = threaded(
        "C",
        parse(
            HEAD
            + """  for C.i in 4 blocks:
    alloc A_shared: float32[8] @ shared
    for A_shared.i in 8 threads:
      A_shared[A_shared.i] = A[C.i * 8 + A_shared.i]
    for C.j in 4 threads:
      C[C.i, C.j] = A_shared[C.j * 2]
"""
        ).body,
    )
    assert (made.blocks, made.threads, [each.name for each in made.shared]) == (4, 8, ["A_shared"])
    assert "C[gpu.block, gpu.thread] = A_shared[gpu.thread * 2]" in text(made.body)
    assert "if gpu.thread < 4:" in text(made.body)


def test_nested_loops_are_one_number() -> None:
    found = body("""  for C.i in 4 threads:
    for C.j in 8 threads:
      C[C.i, C.j] = A[C.i * 8 + C.j]
""")
    assert "C[gpu.thread // 8, gpu.thread % 8]" in found


def test_conditions_go_inwards() -> None:
    found = body("""  for C.i in 4 blocks:
    if C.i < 3:
      for C.k in 2:
        for C.j in 8 threads:
          C[C.i, C.j] = A[C.j]
""")
    assert found.startswith("for C.k in 2:\n  if (gpu.thread < 8) & (gpu.block < 3):")


def test_without_threads_one_does_it() -> None:
    found = body("""  for C.i in 4:
    for C.j in 8:
      C[C.i, C.j] = A[C.j]
""")
    assert found.startswith("if gpu.thread < 1:\n  for C.i in 4:")


def test_slots_go_round() -> None:
    made = threaded(
        "C",
        parse(
            HEAD
            + """  for C.i in 4:
    alloc S: float32[8] @ shared in 2 slots
    for S.i in 8 threads:
      S[S.i] = A[S.i]
    for C.j in 8 threads:
      C[C.i, C.j] = S[7 - C.j]
"""
        ).body,
    )
    assert made.shared[0].shape == (2, 8)
    assert "S[C.i % 2, gpu.thread] =" in text(made.body)


REFUSED = {
    "C.j is over blocks, and not outermost": """  for C.i in 4:
    for C.j in 8 blocks:
      C[C.i, C.j] = A[C.j]
""",
    "loops over threads in C.i, which do not lie directly inside": """  for C.i in 4 threads:
    alloc S: float32[8] @ local
    for C.j in 8 threads:
      C[C.i, C.j] = A[C.j]
""",
    "S of a block lies in global: shared and local are there": """  for C.i in 4 blocks:
    alloc S: float32[8]
    for C.j in 8 threads:
      C[C.i, C.j] = A[C.j]
""",
    "S of a thread lies in global: local is there": """  for C.i in 4 threads:
    alloc S: float32[8]
    for C.j in 8:
      C[C.i, C.j] = A[C.j]
""",
    "C.i, parallel, has loops over threads inside": """  for C.i in 4 parallel:
    for C.j in 8 threads:
      C[C.i, C.j] = A[C.j]
""",
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        body(REFUSED[message])
