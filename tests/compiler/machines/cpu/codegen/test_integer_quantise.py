"""Quantisation by integers: the float formula's results in every bit, over all exponents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT16, UINT8, DType
from tandem.compiler.ir.expr import Binary, Const, Expr, Unary
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function, emit_object
from tandem.compiler.machines.cpu.codegen.integer_quantise import fits, quotient_of
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tests.support.compiler.machines.cpu.native import EXACT

FRACTIONS = 24
"""Random fractions for each sign and exponent."""
NEAR = 3
"""Floats on both sides of a tie."""


def program(step: float, zero: int, to: DType, count: int) -> str:
    low, high = (f"{float(limit)} - float32(z[])" for limit in (to.low, to.high))
    return f"""
func f(x: float32[{count}]) -> (y: {to}[{count}]):
  alloc s: float32[]
  alloc z: {to}[]
  s[] = {step!r}
  z[] = {zero}
  for i in {count}:
    y[i] = {to}(int32(min(max(round(x[i] / s[]), {low}), {high})) + int32(z[]))
"""


def floats(step: np.float32, seed: int) -> NDArray[np.float32]:
    """Of all exponents and both signs; near the ties of a step; and what is no number."""
    random = np.random.default_rng(seed)
    exponents = np.repeat(np.arange(512, dtype=np.uint32), FRACTIONS) << 23
    words = exponents | random.integers(0, 1 << 23, exponents.size, dtype=np.uint32)
    words[::FRACTIONS] &= 0xFF80_0000  # powers of two, zeros and infinities
    ties = ((np.arange(-300, 300) + 0.5) * np.float64(step)).astype(np.float32)
    shifted = ties.view(np.int32)[:, None] + np.arange(-NEAR, NEAR + 1, dtype=np.int32)
    every = np.concatenate((words.view(np.float32), shifted.ravel().view(np.float32)))
    return np.concatenate((every, np.array([0.0, -0.0, np.nan, -np.nan], np.float32)))


def expected(x: NDArray[np.float32], step: np.float32, zero: int, to: DType) -> NDArray[Any]:
    """ONNX's QuantizeLinear in float32; the zero point for NaN."""
    with np.errstate(all="ignore"):
        nearest = np.rint(x / step)
        kept = np.clip(nearest, np.float32(to.low - zero), np.float32(to.high - zero))
    return (np.where(np.isnan(kept), 0, kept).astype(np.int32) + zero).astype(to.numpy)


def check(step: np.float32, zero: int, to: DType, seed: int) -> None:
    x = floats(step, seed)
    text = program(float(step), zero, to, x.size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CpuTarget, "has_fpu", property(lambda _: False))
        (found,) = compile_function(parse(text), EXACT)(x)
    wanted = expected(x, step, zero, to)
    wrong = np.flatnonzero(found != wanted)
    assert not wrong.size, (step, x[wrong[:5]], found[wrong[:5]], wanted[wrong[:5]])


@settings(max_examples=12)
@given(
    st.integers(3 << 23, (239 << 23) - 1),
    st.sampled_from([(INT8, 0), (INT8, -17), (UINT8, 128), (INT16, 0), (INT16, 32767)]),
    st.integers(0, 1 << 30),
)
def test_every_exponent(step: int, to: tuple[DType, int], seed: int) -> None:
    """Of the step, too, but for the least and the greatest."""
    check(np.uint32(step).view(np.float32), to[1], to[0], seed)


@pytest.mark.parametrize(
    "step", [1.0, 0.5, 1 / 3, 0.024459345266222954, 2.0**-100, 2.0**111, 1.9999999]
)
def test_steps(step: float) -> None:
    for seed, to in enumerate((INT8, UINT8, INT16)):
        check(np.float32(step), 0, to, seed)


@pytest.mark.exhaustive
def test_many_steps() -> None:
    random = np.random.default_rng(50)
    for seed in range(400):
        word = int(random.integers(3 << 23, (239 << 23) - 1))
        check(np.uint32(word).view(np.float32), int(random.integers(-128, 128)), INT8, seed)


@pytest.mark.parametrize("step", [2.0**-127, 2.0**-125, 2.0**112, 0.0, -1.0, np.inf, np.nan])
def test_steps_that_floats_divide_by(step: float) -> None:
    """Denormal numbers or infinity may be quantised otherwise: the formula in floats stays."""
    assert quotient_of(rounded(step)) is None


def rounded(step: float) -> Expr:
    return Unary(UnaryOp.ROUND, Binary(BinaryOp.DIV, Const(1.0, FLOAT32), Const(step, FLOAT32)))


def test_bounds() -> None:
    assert quotient_of(rounded(0.5)) == (Const(1.0, FLOAT32), 0.5)
    assert fits(-65535, 65535)
    assert not fits(-65536, 0)
    assert not fits(0, 65536)


def test_no_float_is_computed() -> None:
    """A processor without floats calls no function for them, where there is one step."""
    for name in ("rv32im", "cortex-m4"):
        target = PROCESSORS[name]
        target = target if name == "rv32im" else target.without_fpu()
        code = emit_object(parse(program(0.02, 3, INT8, 8)), target).code
        assert b"__divsf3" not in code
        assert b"__aeabi_fdiv" not in code
        plain = emit_object(parse(program(3 * 2.0**-127, 3, INT8, 8)), target).code
        assert b"__divsf3" in plain or b"__aeabi_fdiv" in plain
