from __future__ import annotations

import os

import numpy as np
import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.parser import parse
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen import CpuTarget, emit_object
from tandem.compiler.machines.cpu.codegen.module import build_module
from tandem.compiler.machines.cpu.processors import named_processor
from tests.support.compiler.machines.cpu.native import HOST, assembly, run_text


def test_the_host_has_all_its_cores() -> None:
    assert CpuTarget.host().threads == len(os.sched_getaffinity(0))
    assert CpuTarget.host(threads=3).threads == 3


def test_features_go_with_what_they_need() -> None:
    target = CpuTarget("x86_64-unknown-linux-gnu", "znver4", ("avx", "avx2", "avx512f", "fma"))
    assert target.register_bits == 512
    assert target.without("avx512f").features == ("avx", "avx2", "fma")
    assert target.without("fma").features == ("avx", "avx2")
    assert target.without("avx2").register_bits == 128
    assert target.without("avx").features == ()


def test_what_is_not_listed_is_off() -> None:
    """Whatever the model has: that only says how to order instructions."""
    target = CpuTarget(HOST.triple, HOST.cpu, ())
    for feature in ("avx2", "fma", "avx512f", "neon"):
        if feature in HOST.features:
            assert f"-{feature}" in target.feature_string.split(",")
    assert "+" not in target.feature_string


@pytest.mark.parametrize(
    ("name", "bits", "registers", "pointer", "fma", "rounding", "threaded"),
    [
        ("cortex-a72", 128, 32, 64, (True, True), True, True),
        ("cortex-m4", 64, 16, 32, (True, False), False, False),
        ("cortex-m55", 128, 8, 32, (True, True), True, False),
        ("rv32im", 64, 32, 32, (False, False), False, False),
        ("rv32imc", 64, 32, 32, (False, False), False, False),
        ("rv64gc", 64, 32, 64, (True, True), True, True),
        ("wasm32", 128, 32, 32, (False, False), True, False),
    ],
)
def test_other_processors(
    name: str,
    bits: int,
    registers: int,
    pointer: int,
    fma: tuple[bool, bool],
    rounding: bool,
    threaded: bool,
) -> None:
    target = named_processor(name)
    assert (target.register_bits, target.registers, target.pointer_bits) == (
        *(bits, registers),
        pointer,
    )
    assert (target.has_fma(32), target.has_fma(64)) == fma
    assert (target.has_rounding, target.threaded) == (rounding, threaded)


AVX512 = ("avx512bw", "avx512f", "avx512vbmi", "avx512vl")


@pytest.mark.parametrize(
    ("lacks", "sizes"),
    [
        ((), [8, 16, 32, 64]),
        (("avx512vbmi",), [16, 32, 64]),
        (("avx512bw",), [32, 64]),
        (("avx512vl",), []),
        (("avx512f",), []),
    ],
)
def test_permutations(lacks: tuple[str, ...], sizes: list[int]) -> None:
    features = tuple(each for each in AVX512 if each not in lacks)
    target = CpuTarget("x86_64-unknown-linux-gnu", "", features)
    assert [bits for bits in (8, 16, 32, 64) if target.permutes(bits)] == sizes
    assert not named_processor("neoverse-n1").permutes(32)


def test_without_fpu() -> None:
    """A Cortex-M4 multiplies by a function; others have no such code."""
    plain = named_processor("cortex-m4", fpu=False)
    program = """
func f(A: float32[4]) -> (C: float32[4]):
  for i in 4:
    C[i] = A[i] * A[i]
"""
    text, _ = build_module(lower(parse(program)), plain)
    assert "__mulsf3" in assembly(text, plain)
    full = named_processor("cortex-m4")
    text, _ = build_module(lower(parse(program)), full)
    assert "vmul.f32" in assembly(text, full)
    with pytest.raises(CodegenError, match="no code for cortex-m55 without its FPU: only for"):
        named_processor("cortex-m55", fpu=False)


def test_code_for_a_model_without_its_features() -> None:
    """It runs, and uses none of them."""
    target = CpuTarget(HOST.triple, HOST.cpu, ())
    program = """
func f(A: float32[40], B: float32[40]) -> (C: float32[40]):
  for i in 40 vectorized:
    C[i] = A[i] * B[i] + 1.0
"""
    data = np.arange(40, dtype=np.float32)
    run_text(program, data, data, target=target)
    text, _ = build_module(lower(parse(program)), target)
    assert "ymm" not in assembly(text, target)
    assert "zmm" not in assembly(text, target)


def test_at_least_one_thread() -> None:
    with pytest.raises(CodegenError, match="not 0"):
        CpuTarget.host(threads=0)


def test_a_target_that_this_machine_makes_no_code_for() -> None:
    program = parse("func f(A: float32[1]) -> (C: float32[1]):\n  C[0] = A[0]\n")
    with pytest.raises(CodegenError, match="LLVM cannot make code for nowhere here"):
        emit_object(program, CpuTarget("nowhere", "generic", ()))
