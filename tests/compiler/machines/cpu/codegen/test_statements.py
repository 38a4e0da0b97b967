"""Statements as LLVM's text, and what they do, against the interpreter."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.ir.ops import const, index
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import Alloc, PrimFunc, Seq, Store
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.codegen.module import build_module
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.te import Schedule, compute, placeholder
from tests.support.compiler.machines.cpu.emitted import AVX2, AVX512, SSE
from tests.support.compiler.machines.cpu.native import EXACT, run_text

SMALL_CORE = PROCESSORS["rv32im"]


def text_of(program: str, target: CpuTarget = AVX2) -> str:
    """LLVM's text of a program without its declarations."""
    text, _ = build_module(parse(program), target)
    return "\n".join(line for line in text.splitlines() if not line.startswith("declare"))


def counted(program: str, pattern: str, target: CpuTarget = AVX2) -> int:
    """How often a pattern is in the text of a program."""
    return len(re.findall(pattern, text_of(program, target)))


def numbers(*shape: int) -> NDArray[Any]:
    return np.random.default_rng(1).integers(-50, 50, shape).astype(np.int32)


def test_statements_in_order() -> None:
    found, _ = run_text(
        """
func f(A: int32[4]) -> (C: int32[4], D: int32[1]):
  for i in 4:
    D[0] = A[i] * 2
    C[i] = D[0] + 1
    if 0 < A[i]:
      C[i] = C[i] + 100
      D[0] = C[i]
""",
        numbers(4),
    )
    assert found.tolist() == [2 * a + (101 if a > 0 else 1) for a in numbers(4).tolist()]


SERIAL = "func f(A: int32[8]) -> (C: int32[8]):\n  for i in {}:\n    C[i] = A[i]\n"


def test_loops_of_one_iteration_are_none() -> None:
    for extent, loops in ((0, 0), (1, 0), (2, 1), (8, 1)):
        assert counted(SERIAL.format(extent), r"phi +i64") == loops
        assert counted(SERIAL.format(extent), r"store i32") == min(extent, 1)
    run_text(SERIAL.format(8), numbers(8))


def test_how_loops_are_counted() -> None:
    """In 32 bits on a processor of 32, where the extent fits; and tested before the first iteration
    where the extent is not known."""
    large = "func f() -> (C: int8[1]):\n  for i in {}:\n    C[0] = int8(i)\n"
    for target, extent, bits in (
        (AVX2, 9, 64),
        (SMALL_CORE, 9, 32),
        (SMALL_CORE, (1 << 31) - 1, 32),
        (SMALL_CORE, 1 << 31, 64),
    ):
        text = text_of(large.format(extent), target)
        assert re.findall(r"phi +i(\d+)", text) == [str(bits)]
        assert f'icmp slt i{bits} %".' in text
        assert f", {extent}" in text
    triangle = """
func f(A: int32[5, 5]) -> (C: int32[5]):
  for i in 5:
    C[i] = 0
    for j in {}:
      C[i] = C[i] + A[i, j]
"""
    assert counted(triangle.format("i"), "icmp slt") == counted(triangle.format(5), "icmp slt") + 1
    assert counted(triangle.format("i"), "phi +i64") == 2
    (found,) = run_text(triangle.format("i"), numbers(5, 5))
    assert found.tolist() == np.tril(numbers(5, 5), -1).sum(1).tolist()


def test_unrolled_loops_are_written_out() -> None:
    program = """
func f(A: int32[4, 3]) -> (C: int32[4, 3]):
  for i in 4:
    for j in 3 {}:
      C[i, j] = A[i, 2 - j] + int32(j)
"""
    assert counted(program.format("unrolled"), "store i32") == 3
    assert counted(program.format("unrolled"), "phi") == 1
    # A number in each copy.
    assert "trunc i64 2 to i32" in text_of(program.format("unrolled"))
    run_text(program.format("unrolled"), numbers(4, 3))
    inner = program.replace("i in 4:", "i in 4 vectorized:").format("vectorized")
    assert counted(inner, "store <12 x i32>", SSE) == 1
    run_text(inner, numbers(4, 3))


def vectors(extent: int) -> str:
    return f"""
func f(A: int32[{extent}]) -> (C: int32[{extent}]):
  for i in {extent} vectorized:
    C[i] = A[i] * int32(i)
"""


def test_vectors() -> None:
    """Up to four vectors of 64 are written out, more are a loop."""
    assert re.findall(r"store <?(\S+)", text_of(vectors(64 + 32 + 8 + 3))) == ["64", "32", "8", "3"]
    assert re.findall(r"store <?(\S+)", text_of(vectors(65))) == ["64", "i32"]
    for count, loops in ((4, 0), (5, 1)):
        text = text_of(vectors(64 * count + 1))
        assert len(re.findall(r"phi +i64", text)) == loops
        assert len(re.findall(r"store <64 x i32>", text)) == (1 if loops else count)
    text = text_of(vectors(64 * 5 + 32 * 5))
    # The lanes of iteration n begin at 64 n, those of the second loop behind the first's.
    assert re.findall(r"mul nsw i64 %\S+, (\d+)", text)[:1] == ["64"]
    assert re.findall(r"add nsw i64 %\S+, (\d+)", text)[:1] == ["0"]
    for extent in (3, 64 * 5 + 32 + 9, 64 * 6 + 1):
        run_text(vectors(extent), numbers(extent))


def test_ranges_of_strips_tell_what_is_in_bounds() -> None:
    """Of 79 elements the last vector reads three, all of them under a condition."""
    program = """
func f(A: int32[79]) -> (C: int32[79]):
  for i in 79 vectorized:
    if i < 79:
      C[i] = A[i]
"""
    assert counted(program, "masked.load", SSE) == 0
    shifted = program.replace("A[i]", "A[i + 1]")
    assert counted(shifted, "masked.load", SSE) == 1
    looped = vectors(64 * 5 + 3).replace("C[i] =", "if A[0] < int32(i):\n      C[i] =")
    assert counted(looped, "masked.load", SSE) == 0


def test_conditions_of_lanes_are_masks() -> None:
    program = """
func f(A: int32[3, 16]) -> (C: int32[3, 16]):
  for r in 3:
    for i in 16 vectorized:
      C[r, i] = 7
      if {}:
        C[r, i] = A[r, i]
"""
    assert counted(program.format("A[r, i] < 5"), "masked.store") == 1
    assert counted(program.format("A[r, 0] < 5"), "masked.store") == 0
    for condition in ("A[r, i] < 5", "A[r, 0] < 5", "i < 4", "r < 2"):
        run_text(program.format(condition), numbers(3, 16))


def test_lanes_that_are_known_to_run() -> None:
    """Of them alone an element is picked, so that no others need be there."""
    program = """
func f(A: int32[60]) -> (C: int32[16]):
  for i in 16 vectorized:
    if i < 8:
      C[i] = A[i // 4 * 9 + i % 4]
"""
    permuted = replace(AVX512, features=(*AVX512.features, "avx512vbmi"))
    assert counted(program, "masked.gather", permuted) == 0
    unknown = program.replace("i < 8", "A[i] < 8")
    assert counted(unknown, "masked.gather", permuted) == 1


def test_sums_of_lanes() -> None:
    """An element that all lanes add to is a reduction; another has the last lane's value."""
    program = """
func f(A: int32[5, 19]) -> (C: int32[5]):
  for r in 5:
    C[r] = 3
    for i in 19 vectorized:
      C[r] = {}
"""
    for value, reduced in (
        ("C[r] + A[r, i]", 2),
        ("max(A[r, i], C[r])", 2),
        ("C[r] + A[r, 0]", 2),
    ):
        assert counted(program.format(value), r"call \S+ @\"llvm.vector.reduce") == reduced
        run_text(program.format(value), numbers(5, 19))
    last = parse(program.format("A[r, i] + 1"))
    (found,) = compile_function(last, EXACT)(numbers(5, 19))
    assert found.tolist() == (numbers(5, 19)[:, 18] + 1).tolist()
    serial = program.replace(" vectorized", "").format("C[r] + A[r, i]")
    assert "vector.reduce" not in text_of(serial)
    apart = program.replace("C[r] = {}", "C[i % 5] = C[i % 5] + A[r, i]").replace("19 v", "5 v")
    assert counted(apart, r"call \S+ @\"llvm.vector.reduce") == 0


def test_allocated_memory() -> None:
    """Small on the stack and large in the workspace, as long as the statement."""
    program = """
func f(A: int32[{0}]) -> (C: int32[{0}]):
  alloc t: int32[{0}]
  for i in {0}:
    t[i] = A[i] + 1
  for j in {0}:
    C[j] = t[{0} - 1 - j]
"""
    assert counted(program.format(9), "alloca") == 1
    assert counted(program.format(100_000), "alloca") == 0
    (found,) = run_text(program.format(9), numbers(9))
    assert found.tolist() == (numbers(9)[::-1] + 1).tolist()
    inside, after = Buffer("t", (4,), INT32), Buffer("C", (4,), INT32)
    store = Store(inside, (index(0),), const(1, INT32))
    late = Seq((Alloc(inside, store), replace(store, indices=(index(1),))))
    with pytest.raises(CodegenError, match="f: t is neither a parameter nor allocated here"):
        build_module(PrimFunc("f", (), (after,), late), AVX2)


def test_memory_on_the_stack_has_no_masked_stores() -> None:
    """LLVM makes registers of it."""
    program = """
func f(A: int32[{0}]) -> (C: int32[{0}]):
  alloc t: int32[{0}]
  for k in {0} vectorized:
    t[k] = 0
  for i in {0} vectorized:
    if A[i] < 3:
      t[i] = A[i]
  for j in {0} vectorized:
    C[j] = t[j]
"""
    assert counted(program.format(16), "masked.store") == 0
    assert counted(program.format(65536), "masked.store") > 0


def test_each_lane_has_its_own_memory() -> None:
    program = """
func f(A: int32[9, 3]) -> (C: int32[9]):
  for i in 9 vectorized:
    alloc t: int32[3] @ local
    for k in 3:
      t[k] = A[i, k]
    C[i] = t[2] - t[0]
"""
    run_text(program, numbers(9, 3))


def test_lanes_that_are_written_beside_each_other() -> None:
    """Unrolled loops of lanes are interleaved or transposed, where they can be."""
    program = """
func f(A: int32[2, 16]) -> (C: int32[16, 2]):
  for i in 16 vectorized:
    for k in 2 unrolled:
      C[i, k] = {}
"""
    for value, scatters in (("A[k, i]", 0), ("C[i, 0] + A[k, i]", 2)):
        assert counted(program.format(value), "call .*masked.scatter") == scatters


PARALLEL = """
func f(A: int32[9, 4]) -> (C: int32[9, 4]):
  for r in 9 parallel:
    for i in 4 {}:
      C[r, i] = A[r, i] + {}
"""


def test_parallel_loops_are_tasks() -> None:
    assert counted(PARALLEL.format("", "1"), r"define internal") == 1
    run_text(PARALLEL.format("", "1"), numbers(9, 4))
    # One inside another is serial.
    assert counted(PARALLEL.format("parallel", "1"), r"define internal") == 1
    run_text(PARALLEL.format("parallel", "1"), numbers(9, 4), target=EXACT)
    lanes = PARALLEL.replace("9 parallel", "9 vectorized").format("parallel", "1")
    with pytest.raises(CodegenError, match="f / r: i is parallel within a vectorized loop"):
        build_module(parse(lanes), AVX2)


def test_refusals() -> None:
    program = """
func f() -> (C: int32[16]):
  for i in 16 vectorized:
    C[i] = 0
    for j in i:
      C[i] = C[i] + 1
"""
    with pytest.raises(CodegenError, match="f / i: j: its extent differs between lanes"):
        build_module(parse(program), AVX2)
    a = placeholder((4,), INT32, "A")
    blocks = Schedule.of(compute((4,), lambda i: a[i], "C")).program
    with pytest.raises(CodegenError, match="C is still a block: lower blocks first"):
        build_module(blocks, AVX2)
