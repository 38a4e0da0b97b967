"""Products of integers and scales by integers alone: floats' results in every bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function, emit_object
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tests.support.compiler.machines.cpu.native import EXACT, same

COUNT = 4096
SCALED = f"""
func f(x: int32[{COUNT}], s: float32[{COUNT}]) -> (y: float32[{COUNT}]):
  for i in {COUNT}:
    y[i] = float32(x[i]) * s[i]
"""


@settings(max_examples=12)
@given(st.integers(0, 1 << 30))
def test_every_exponent(seed: int) -> None:
    """Of the integer, and of the scale: infinities, denormal numbers, zeros and NaN, too."""
    random = np.random.default_rng(seed)
    words = random.integers(0, 1 << 32, COUNT, dtype=np.uint32)
    words[: COUNT // 2] = words[: COUNT // 2] & 0x807F_FFFF | 100 << 23  # the usual ones
    words[::16] &= 0xFF80_0000
    x = random.integers(-(1 << 31), 1 << 31, COUNT).astype(np.int32)
    x >>= random.integers(0, 32, COUNT, dtype=np.int32)
    x[:4] = 0, -(1 << 31), (1 << 31) - 1, -1
    x[4::8] &= -128  # of which halves are rounded
    s = words.view(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CpuTarget, "has_fpu", property(lambda _: False))
        (found,) = compile_function(parse(SCALED), EXACT)(x, s)
    with np.errstate(all="ignore"):
        same(found, x.astype(np.float32) * s)


def test_ties() -> None:
    """Products that lie between two floats, which go to the even one, also where it carries."""
    n = np.arange(1 << 23, (1 << 23) + COUNT, dtype=np.uint32)
    s = (n & 0x7F_FFFF | 100 << 23).view(np.float32)
    for x in (3, 5, 7, 9, -3, (1 << 24) - 1, (1 << 25) + 1, (1 << 25) + 3):
        whole = np.full(COUNT, x, np.int32)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(CpuTarget, "has_fpu", property(lambda _: False))
            (found,) = compile_function(parse(SCALED), EXACT)(whole, s)
        same(found, whole.astype(np.float32) * s)


def test_lanes() -> None:
    text = SCALED.replace(f"for i in {COUNT}:", f"for i in {COUNT} vectorized:")
    x = np.arange(-COUNT // 2, COUNT // 2, dtype=np.int32)
    s = np.linspace(-1, 1, COUNT, dtype=np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CpuTarget, "has_fpu", property(lambda _: False))
        (found,) = compile_function(parse(text), EXACT)(x, s)
    same(found, x.astype(np.float32) * s)


def test_on_a_processor_without_floats() -> None:
    """It has the functions of the compiler's library for scales that floats have to multiply."""
    code = emit_object(parse(SCALED), PROCESSORS["rv32im"]).code
    assert b"__mulsf3" in code
    assert b"__floatsisf" in code
