from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.codegen.storage import STACK_BYTES, StoragePlan, plan_storage
from tandem.runtime.native import ALIGNMENT
from tests.support.compiler.ir.ir_strategies import functions
from tests.support.compiler.machines.cpu.native import run_text

TWO_AFTER_EACH_OTHER = """
func f(A: float32[20000]) -> (C: float32[20000], D: float32[20000]):
  for a in 1:
    alloc s: float32[20000]
    for i in 20000 vectorized:
      s[i] = A[i] + 1.0
    for j in 20000 vectorized:
      C[j] = s[19999 - j]
  for b in 1:
    alloc t: float32[20000]
    for k in 20000 vectorized:
      t[k] = A[k] * 2.0
    for l in 20000 vectorized:
      D[l] = t[19999 - l]
"""


def plan(program: str) -> StoragePlan:
    return plan_storage(parse(program), 512)


def test_small_and_local_buffers_take_stack() -> None:
    found = plan("""
func f() -> (C: float32[1]):
  alloc a: float32[1000]
  alloc b: float32[8000] @ local
  alloc c: float32[8000]
  C[0] = 0.0
""")
    assert found.slots["a"].offset is None
    assert found.slots["b"].offset is None
    assert found.slots["c"].offset == 0
    assert (found.shared_bytes, found.worker_bytes) == (32000, 0)


def test_stack_ends() -> None:
    """Local buffers go to the workspace when there is no stack left."""
    found = plan("""
func f() -> (C: float32[1]):
  alloc a: int8[60000] @ local
  alloc b: int8[6000] @ local
  alloc c: int8[4000] @ local
  C[0] = 0.0
""")
    assert [found.slots[name].offset is None for name in "abc"] == [True, False, True]
    assert found.shared_bytes == 6016


def test_buffers_that_live_at_other_times_share() -> None:
    found = plan(TWO_AFTER_EACH_OTHER)
    assert found.slots["s"].overlaps(found.slots["t"])
    assert found.shared_bytes == 80000
    data = np.arange(20000, dtype=np.float32)
    run_text(TWO_AFTER_EACH_OTHER, data)


def test_workers_have_parts_of_their_own() -> None:
    found = plan("""
func f() -> (C: float32[4]):
  alloc a: float32[2000]
  for i in 4 parallel:
    alloc b: float32[3000]
    C[i] = 0.0
""")
    assert found.slots["b"].worker
    assert not found.slots["a"].overlaps(found.slots["b"])
    assert (found.shared_bytes, found.worker_bytes) == (8000, 12032)


def test_lanes_have_copies() -> None:
    found = plan("""
func f() -> (C: float32[16]):
  for i in 16 vectorized:
    alloc t: float32[3] @ local
    C[i] = 0.0
""")
    assert found.slots["t"].lanes == 16
    assert found.slots["t"].bytes == 16 * 3 * 4


@pytest.mark.parametrize("scope", ["inp", "wgt", "acc", "uop", "out"])
def test_the_accelerators_memories_are_refused(scope: str) -> None:
    program = f"func f() -> (C: float32[1]):\n  alloc a: float32[1] @ {scope}\n  C[0] = 0.0\n"
    with pytest.raises(CodegenError, match=f"a lies in {scope}: a CPU has global and local"):
        plan(program)


@settings(max_examples=50)
@given(functions(invokes=False))
def test_random_plans(function: PrimFunc) -> None:
    """Slots are aligned and inside of what is asked for, and stack is limited."""
    found = plan_storage(function, 256)
    for slot in found.slots.values():
        if slot.offset is None:
            assert slot.bytes <= STACK_BYTES
        else:
            assert slot.offset % ALIGNMENT == 0
            limit = found.worker_bytes if slot.worker else found.shared_bytes
            assert slot.offset + slot.bytes <= limit
