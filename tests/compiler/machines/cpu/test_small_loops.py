"""Which parallel loops are left to threads."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import LoopKind, PrimFunc
from tandem.compiler.ir.visit import loops
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.small_loops import SerialSmallLoops
from tandem.compiler.machines.cpu.target import cpu
from tests.support.compiler.machines.cpu.native import same_as_interpreter


def program(rows: int, columns: int, kind: str = " vectorized") -> PrimFunc:
    return parse(f"""
func f(A: float32[{rows}, {columns}]) -> (C: float32[{rows}, {columns}]):
  for i in {rows} parallel:
    for j in {columns}{kind}:
      C[i, j] = A[i, j] * 2.0 + 1.0
""")


def is_parallel(function: PrimFunc, work: SerialSmallLoops) -> bool:
    return any(each.kind is LoopKind.PARALLEL for each in loops(work.apply(function).body))


@pytest.mark.parametrize(
    ("rows", "columns", "kind", "instructions"),
    [
        (10, 16, " vectorized", 30),
        (10, 40, " vectorized", 90),
        (10, 16, "", 480),
        (7, 4, " unrolled", 84),
        (0, 5, "", 0),
    ],
)
def test_instructions(rows: int, columns: int, kind: str, instructions: int) -> None:
    """A product, a sum and a store, for vectors of 16 floats."""
    function = program(rows, columns, kind)
    assert SerialSmallLoops(512).instructions(function.body) == instructions
    assert is_parallel(function, SerialSmallLoops(512, instructions, 0))
    assert not is_parallel(function, SerialSmallLoops(512, instructions + 1, 0))


@pytest.mark.parametrize(("columns", "more"), [(64, 2 * 4 * 64 * 128), (65, 0)])
def test_few_bytes_that_are_written_ask_for_more(columns: int, more: int) -> None:
    """32 KiB are few, and what threads pass to each other. Of more, others are no worse."""
    function = program(128, columns)
    instructions = SerialSmallLoops(512).instructions(function.body)
    assert is_parallel(function, SerialSmallLoops(512, instructions - more, 2))
    assert not is_parallel(function, SerialSmallLoops(512, instructions - more + 1, 2))


def test_narrower_vectors_are_more() -> None:
    body = program(10, 64).body
    counts = [SerialSmallLoops(bits).instructions(body) for bits in (512, 256, 128)]
    assert counts == [120, 240, 480]


def test_intrinsics_and_guards() -> None:
    function = parse("""
func f(A: float32[64]) -> (C: float32[64]):
  for i in 64 parallel:
    if A[i] < 3.0:
      C[i] = 1.0
    for j in i + 1:
      C[j] = A[j]
""")
    assert SerialSmallLoops(512, 100).instructions(function.body) == 64 * (1 + 100)


def test_loops_within_are_no_tasks_of_their_own() -> None:
    """The outer loop stays parallel, or none is."""
    function = parse("""
func f(A: float32[100, 100]) -> (C: float32[100, 100]):
  for i in 100 parallel:
    for j in 100 parallel:
      C[i, j] = A[i, j]
""")
    kinds = [each.kind for each in loops(SerialSmallLoops(512, 10_001, 0).apply(function).body)]
    assert kinds == [LoopKind.SERIAL, LoopKind.SERIAL]
    assert SerialSmallLoops(512, 10_000, 0).apply(function) == function


def test_results_stay() -> None:
    function = program(9, 33)
    data = np.random.default_rng(0).standard_normal((9, 33)).astype(np.float32)
    same_as_interpreter(SerialSmallLoops(512).apply(function), [data])


def test_it_is_a_pass_of_the_target() -> None:
    target = cpu(CpuTarget.host(2))
    small, large = (lower(program(rows, 64), target.passes).body for rows in (10, 100_000))
    assert next(each.kind for each in loops(small)) is LoopKind.SERIAL
    assert next(each.kind for each in loops(large)) is LoopKind.PARALLEL
