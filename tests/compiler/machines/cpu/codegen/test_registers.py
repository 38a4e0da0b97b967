"""The machine code of a register-tiled product: sums stay in registers."""

from __future__ import annotations

import re

import pytest

from tandem.compiler.ir.parser import parse
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.module import build_module
from tests.support.compiler.machines.cpu.native import HOST, assembly

AVX2 = ("avx", "avx2", "fma", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3")
AVX512 = (*AVX2, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

pytestmark = pytest.mark.skipif("x86_64" not in HOST.triple, reason="x86 assembly")


def matmul(rows: int, vectors: int, lanes: int) -> str:
    wide = vectors * lanes
    return f"""
func matmul(A: float32[240, 256], B: float32[256, 192]) -> (C: float32[240, 192]):
  for io in {240 // rows}:
    for jo in {192 // wide}:
      alloc acc: float32[{rows}, {vectors}, {lanes}] @ local
      for i0 in {rows} unrolled:
        for v0 in {vectors} unrolled:
          for l0 in {lanes} vectorized:
            acc[i0, v0, l0] = 0.0
      for k in 256:
        for i in {rows} unrolled:
          for v in {vectors} unrolled:
            for l in {lanes} vectorized:
              acc[i, v, l] = acc[i, v, l] + A[io * {rows} + i, k]\
 * B[k, jo * {wide} + v * {lanes} + l]
      for i2 in {rows} unrolled:
        for v2 in {vectors} unrolled:
          for l2 in {lanes} vectorized:
            C[io * {rows} + i2, jo * {wide} + v2 * {lanes} + l2] = acc[i2, v2, l2]
"""


@pytest.mark.parametrize(
    ("rows", "vectors", "lanes", "features", "instructions"),
    [
        (6, 2, 8, AVX2, 12),
        (6, 1, 16, AVX2, 12),
        (8, 2, 16, AVX512, 16),
        (12, 2, 16, AVX512, 24),
        (6, 1, 32, AVX512, 12),
        (8, 2, 12, AVX512, 16),
        (8, 1, 24, AVX512, 16),
    ],
)
def test_no_sum_leaves_its_register(
    rows: int, vectors: int, lanes: int, features: tuple[str, ...], instructions: int
) -> None:
    target = CpuTarget(HOST.triple, "generic", features)
    text, _ = build_module(lower(parse(matmul(rows, vectors, lanes))), target)
    code = assembly(text, target)
    products = re.findall(r"vfmadd\w*ps", code)
    assert len(products) == instructions
    assert "(%rsp)" not in code
    assert "(%rbp)" not in code
    assert "call" not in code


def test_guards_do_not_push_sums_out() -> None:
    """A tile whose last column is masked."""
    program = matmul(6, 1, 16).replace(
        "              acc[i, v, l] =",
        "              if jo * 16 + l < 190:\n                acc[i, v, l] =",
    )
    target = CpuTarget(HOST.triple, "generic", AVX512)
    text, _ = build_module(lower(parse(program)), target)
    code = assembly(text, target)
    assert len(re.findall(r"vfmadd\w*ps", code)) == 6
    assert "(%rsp)" not in code
