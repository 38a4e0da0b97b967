"""Lanes that add to one element."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tests.support.compiler.machines.cpu.native import EXACT, HOST, run_text

TARGETS = [HOST, EXACT]
OPS = ["s[0] + {}", "{} + s[0]", "s[0] * {}", "min(s[0], {})", "max({}, s[0])"]
BITS = ["s[0] & {}", "s[0] | {}", "s[0] ^ {}"]


@pytest.mark.parametrize("target", TARGETS, ids=["wide", "narrow"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32", "float64"])
def test_across_lanes(dtype: str, target: CpuTarget) -> None:
    """All lanes, and those where a condition holds. Whole numbers: sums are exact in any order."""
    values = np.random.default_rng(4).integers(1, 5, 37).astype(dtype)
    for op in OPS + (BITS if "int" in dtype else []):
        if "*" in op and "float" in dtype:
            values = np.where(np.arange(37) % 4, 1, values).astype(dtype)
        for guard in ("i < 37", "i % 3 == 1", "A[i] < A[0]"):
            run_text(
                f"""
func f(A: {dtype}[37]) -> (s: {dtype}[1]):
  s[0] = A[3]
  for i in 37 vectorized:
    if {guard}:
      s[0] = {op.format("A[i]")}
""",
                values,
                target=target,
            )


@pytest.mark.parametrize("target", TARGETS, ids=["wide", "narrow"])
def test_across_lanes_of_bools(target: CpuTarget) -> None:
    values = np.random.default_rng(4).integers(0, 2, 37).astype(bool)
    for op in (*BITS, "min(s[0], {})", "max(s[0], {})"):
        run_text(
            f"""
func f(A: bool[37]) -> (s: bool[1]):
  s[0] = A[3]
  for i in 37 vectorized:
    if i % 3 == 1:
      s[0] = {op.format("A[i]")}
""",
            values,
            target=target,
        )


def test_nan_wins() -> None:
    values = np.arange(37, dtype=np.float32)
    values[17] = np.nan
    for op in ("min", "max"):
        (found,) = run_text(
            f"""
func f(A: float32[37]) -> (s: float32[1]):
  s[0] = A[0]
  for i in 37 vectorized:
    s[0] = {op}(s[0], A[i])
""",
            values,
        )
        assert np.isnan(found[0])


def test_a_term_that_lanes_share_counts_for_each() -> None:
    (found,) = run_text(
        """
func f(A: int32[1]) -> (s: int32[1]):
  s[0] = 0
  for i in 37 vectorized:
    s[0] = s[0] + A[0]
""",
        np.array([3], np.int32),
    )
    assert found[0] == 37 * 3


def test_a_long_sum_of_floats_is_close() -> None:
    """The order is another, which a schedule has asked for."""
    values = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    program = """
func f(A: float32[1000]) -> (s: float32[1]):
  s[0] = 0.0
  for i in 1000 vectorized:
    s[0] = s[0] + A[i] * A[i]
"""
    (found,) = compile_function(parse(program), HOST)(values)
    np.testing.assert_allclose(found[0], np.sum(values.astype(np.float64) ** 2), rtol=1e-6)
