"""Interleaved stores and transposed copies inside lanes, against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.ir.parser import parse
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen.module import build_module
from tests.support.compiler.machines.cpu.native import EXACT, HOST, assembly, run_text

TARGETS = pytest.mark.parametrize("target", [HOST, EXACT], ids=["wide", "narrow"])


def numbers(shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    return np.random.default_rng(1).integers(0, 100, shape).astype(dtype)


@TARGETS
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize("extent", [2, 3, 4, 5])
def test_interleaved(extent: int, dtype: str, target: Any) -> None:
    for lanes in (2, 7, 16, 18):
        program = f"""
func f(A: {dtype}[{extent}, {lanes}]) -> (C: {dtype}[{lanes}, {extent}]):
  for i in {lanes} vectorized:
    for k in {extent} unrolled:
      C[i, k] = A[k, i]
"""
        run_text(program, numbers((extent, lanes), dtype), target=target)


@TARGETS
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_interleaved_in_part(stride: int, target: Any) -> None:
    """A guard, and a border that is not read, in lanes and beside them."""
    for dtype in ("uint8", "float32"):
        program = f"""
func f(A: {dtype}[4, 9, 20]) -> (C: {dtype}[11, 16, 4]):
  for z in 11:
    for y in 16:
      for x in 4:
        C[z, y, x] = 7{".0" if dtype == "float32" else ""}
  for r in 11:
    for i in 16 vectorized:
      if i < 13:
        for k in 4 unrolled:
          C[r, i, k] = select((1 <= r) & (r < 10) & (1 <= i) & (i * {stride} < 20), \
A[k, r - 1, i * {stride} - 1], 0{".0" if dtype == "float32" else ""})
"""
        run_text(program, numbers((4, 9, 20), dtype), target=target)


@TARGETS
def test_what_reads_its_own_results_is_not_interleaved(target: Any) -> None:
    program = """
func f(A: int32[8]) -> (C: int32[8, 2]):
  for i in 8 vectorized:
    for j in 2 unrolled:
      C[i, j] = A[i]
  for l in 8 vectorized:
    for k in 2 unrolled:
      C[l, k] = C[l, 0] + C[l, 1]
"""
    run_text(program, numbers((8,), "int32"), target=target)


@pytest.mark.every(5)
@TARGETS
@pytest.mark.parametrize("dtype", ["int8", "float32", "int64"])
@pytest.mark.parametrize("lanes", [2, 3, 7, 14, 16, 17])
def test_transposed(lanes: int, dtype: str, target: Any) -> None:
    for columns in (3, 4, 16, 23, 64):
        program = f"""
func f(A: {dtype}[2, {lanes}, {columns}]) -> (C: {dtype}[{columns}, 2, {lanes}]):
  for r in 2:
    for i in {lanes} vectorized:
      for l in {columns} unrolled:
        C[l, r, i] = A[r, i, l]
"""
        run_text(program, numbers((2, lanes, columns), dtype), target=target)


@TARGETS
def test_transposed_in_part(target: Any) -> None:
    program = """
func f(A: float32[20, 8]) -> (C: float32[8, 20]):
  for j in 8:
    for k in 20:
      C[j, k] = 1.0
  for o in 2:
    for i in 14 vectorized:
      if o * 14 + i < 20:
        for l in 8 unrolled:
          C[l, o * 14 + i] = A[o * 14 + i, l]
"""
    run_text(program, numbers((20, 8), "float32"), target=target)


@pytest.mark.skipif("avx512f" not in HOST.features, reason="registers of 16 floats")
def test_a_transposed_copy_gathers_nothing() -> None:
    program = """
func f(A: float32[16, 32]) -> (C: float32[32, 16]):
  for i in 16 vectorized:
    for l in 32 unrolled:
      C[l, i] = A[i, l]
"""
    text, _ = build_module(lower(parse(program)), HOST)
    code = assembly(text, HOST)
    assert "vgather" not in code
    assert code.count("(%rdi)") < 40
