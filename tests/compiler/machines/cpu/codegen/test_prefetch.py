"""Prefetches of streamed inputs: once for each line in the body of a loop, and no other input."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tandem.compiler.ir.interpreter import run
from tandem.compiler.ir.parser import parse
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.codegen.module import build_module
from tests.support.compiler.machines.cpu.native import EXACT, same

AVX512 = ("avx", "avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "fma")
TARGET = CpuTarget("x86_64-unknown-linux-gnu", "generic", AVX512)
PROGRAM = """
func matmul(A: float32[4, 30], B: float32[30, 32]) -> (C: float32[4, 32]):
  for i0 in 4:
    for l0 in 32 vectorized:
      C[i0, l0] = 0.0
  for k in 30:
    for i in 4 unrolled:
      for l in 32 vectorized:
        C[i, l] = C[i, l] + A[i, k] * B[k, l]
"""


@pytest.mark.parametrize(("streamed", "lines"), [((), 0), (("B",), 2), (("A", "B"), 2)])
def test_each_line_once_in_the_body_of_the_loop(streamed: tuple[str, ...], lines: int) -> None:
    text, _ = build_module(lower(parse(PROGRAM)), TARGET, streamed)
    calls = re.findall(r"call void @\"?llvm\.prefetch", text)
    assert len(calls) == lines


def test_the_result_stays_the_same() -> None:
    function = parse(PROGRAM)
    generator = np.random.default_rng(1)
    arrays = [generator.standard_normal(each.shape, np.float32) for each in function.inputs]
    found = compile_function(function, EXACT, streamed=["B"])(*arrays)
    for one, other in zip(found, run(function, arrays), strict=True):
        same(one, other)
