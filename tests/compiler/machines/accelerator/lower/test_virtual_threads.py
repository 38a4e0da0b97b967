from __future__ import annotations

import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.accelerator.lower.virtual_threads import InterleaveThreads
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.config_files import load_config
from tests.support.compiler.machines.accelerator.lower.passes import becomes, unchanged

PASS = InterleaveThreads()
TARGET = AcceleratorTarget.of(load_config("tiny"))
INTRINSICS = {each.name: each.function for each in TARGET.instructions}


def test_instructions_take_turns() -> None:
    """Two loads stay together, what uses them comes after both threads' loads."""
    becomes(
        PASS,
        """
func f(X: int8[2, 4], Y: int8[2, 4]) -> (O: int8[2, 3, 4]):
  alloc shared: int8[4] @ acc
  for s in 4:
    shared[s] = int8(1)
  for t in 2 virtual_thread:
    alloc c: int8[4] @ acc
    for h in 4:
      c[h] = int8(0)
    for k in 3:
      alloc a: int8[4] @ inp
      alloc b: int8[4] @ wgt
      for i in 4:
        a[i] = X[t, i]
      for j in 4:
        b[j] = Y[t, j]
      for m in 4:
        c[m] = c[m] + a[m] * b[m] + shared[m]
      for n in 4:
        O[t, k, n] = c[n]
""",
        """
func f(X: int8[2, 4], Y: int8[2, 4]) -> (O: int8[2, 3, 4]):
  alloc shared: int8[4] @ acc
  for s in 4:
    shared[s] = int8(1)
  alloc c: int8[2, 4] @ acc
  for t in 2 unrolled:
    for h in 4:
      c[t, h] = int8(0)
  for k in 3:
    alloc a: int8[2, 4] @ inp
    alloc b: int8[2, 4] @ wgt
    for t_1 in 2 unrolled:
      for i in 4:
        a[t_1, i] = X[t_1, i]
      for j in 4:
        b[t_1, j] = Y[t_1, j]
    for t_2 in 2 unrolled:
      for m in 4:
        c[t_2, m] = c[t_2, m] + a[t_2, m] * b[t_2, m] + shared[m]
      for n in 4:
        O[t_2, k, n] = c[t_2, n]
""",
    )


def test_operands_of_tensor_instructions_get_the_thread_in_front() -> None:
    becomes(
        PASS,
        """
func f(S: int32[2, 1, 4]) -> (O: int32[2, 1, 4] @ acc):
  for t in 2 virtual_thread:
    alloc a: int32[1, 4] @ acc
    for i in 4:
      a[0, i] = S[t, 0, i]
    invoke alu_add(a[0 :+ 1, 0 :+ 4], a[0 :+ 1, 0 :+ 4], O[t :+ 1, 0 :+ 1, 0 :+ 4])
""",
        """
func f(S: int32[2, 1, 4]) -> (O: int32[2, 1, 4] @ acc):
  alloc a: int32[2, 1, 4] @ acc
  for t in 2 unrolled:
    for i in 4:
      a[t, 0, i] = S[t, 0, i]
    invoke alu_add(a[t :+ 1, 0 :+ 1, 0 :+ 4], a[t :+ 1, 0 :+ 1, 0 :+ 4], \
O[t :+ 1, 0 :+ 1, 0 :+ 4])
""",
        INTRINSICS,
    )


def test_a_thread_with_less_to_do_sits_out() -> None:
    """The loop runs for the longest; what is alike in all threads is asked outside."""
    becomes(
        PASS,
        """
func f(S: int8[3, 2]) -> (O: int8[3, 4, 2]):
  for q in 3:
    for t in 3 virtual_thread:
      if (q < 3) & (t < 3):
        for k in 4 - t:
          alloc a: int8[2] @ inp
          a[0] = S[t, 0]
          a[1] = S[t, 1]
          O[t, k, 0] = a[0]
          O[t, k, 1] = a[1]
      for z in t:
        for r in 2:
          O[t, 3 - z, r] = int8(9)
""",
        """
func f(S: int8[3, 2]) -> (O: int8[3, 4, 2]):
  for q in 3:
    if q < 3:
      for k in 4:
        alloc a: int8[3, 2] @ inp
        for t in 3 unrolled:
          if (t < 3) & (k < 4 - t):
            a[t, 0] = S[t, 0]
          if (t < 3) & (k < 4 - t):
            a[t, 1] = S[t, 1]
        for t_1 in 3 unrolled:
          if (t_1 < 3) & (k < 4 - t_1):
            O[t_1, k, 0] = a[t_1, 0]
          if (t_1 < 3) & (k < 4 - t_1):
            O[t_1, k, 1] = a[t_1, 1]
    for t_2 in 3 unrolled:
      for z in t_2:
        for r in 2:
          O[t_2, 3 - z, r] = int8(9)
""",
    )


def test_a_program_without_threads_stays() -> None:
    unchanged(PASS, "func f() -> (O: int8[4]):\n  for i in 4:\n    O[i] = int8(1)\n")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            ("for t in 2", "for t in q + 1"),
            "^the number of virtual threads of t is no constant: partition the loop$",
        ),
        (
            ("a: int8[4] @ inp", "a: int8[4]"),
            "^a, allocated inside the virtual threads t, lies in DRAM: allocate it outside$",
        ),
        (
            ("for k in 3", "for k in E[t]"),
            "^the iterations of k in the virtual threads t have no bound$",
        ),
    ],
)
def test_refuses(changes: tuple[str, str], message: str) -> None:
    program = """
func f(E: int64[2]) -> (O: int8[2, 4]):
  for q in 2:
    for t in 2 virtual_thread:
      for k in 3:
        alloc a: int8[4] @ inp
        a[0] = int8(1)
        O[t, q] = a[0]
"""
    old, new = changes
    assert old in program
    PASS.apply(parse(program))
    with pytest.raises(LoweringError, match=message):
        PASS.apply(parse(program.replace(old, new)))
