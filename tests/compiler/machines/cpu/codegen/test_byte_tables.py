"""Tables of bytes are looked up in vectors as the interpreter does."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.ir.parser import parse
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.byte_tables import lookup_cost
from tandem.compiler.machines.cpu.codegen.module import build_module
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tests.support.compiler.machines.cpu.native import HOST, assembly, run_text

PLAIN = HOST.without("avx512vbmi")
TARGETS = pytest.mark.parametrize("target", [HOST, PLAIN], ids=["permuted", "loaded"])
LANES = [2, 7, 16, 31, 48, 64, 65, 200, 700]


def program(lanes: int, dtype: str = "int8", guard: str = "") -> str:
    byte = "A[i]" if dtype == "uint8" else "uint8(A[i])"
    return f"""
func f(A: {dtype}[{lanes}], T: {dtype}[256]) -> (C: {dtype}[{lanes}]):
  for z in {lanes}:
    C[z] = A[z]
  for i in {lanes} vectorized:
{guard}    {"  " if guard else ""}C[i] = T[int64({byte})]
"""


def arrays(lanes: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(lanes)
    bytes_ = np.resize(rng.permutation(256), lanes).astype(np.uint8)
    return bytes_.view(dtype), rng.permutation(256).astype(np.uint8).view(dtype)


@TARGETS
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("lanes", LANES)
def test_lookup(lanes: int, dtype: str, target: CpuTarget) -> None:
    run_text(program(lanes, dtype), *arrays(lanes, dtype), target=target)


@TARGETS
def test_under_a_mask(target: CpuTarget) -> None:
    guard = "    if A[i] < 3:\n"
    run_text(program(100, guard=guard), *arrays(100, "int8"), target=target)


@TARGETS
def test_a_byte_that_all_lanes_share(target: CpuTarget) -> None:
    text = """
func f(A: uint8[5], T: int8[256]) -> (C: int8[5, 20]):
  for r in 5:
    for i in 20 vectorized:
      C[r, i] = T[int64(A[r])]
"""
    bytes_, table = arrays(5, "uint8")
    run_text(text, bytes_, table.view("int8"), target=target)


def code(target: CpuTarget) -> str:
    text, _ = build_module(lower(parse(program(640))), target)
    return assembly(text, target)


@pytest.mark.skipif("avx512vbmi" not in HOST.features, reason="permutations of bytes")
def test_two_permutations_for_64_bytes() -> None:
    assert code(HOST).count("vpermi2b") + code(HOST).count("vpermt2b") == 2


def test_four_parts_of_16_registers() -> None:
    assert code(PROCESSORS["neoverse-n1"]).count("tbl\tv") >= 4


@pytest.mark.parametrize(
    ("target", "cost"),
    [
        (CpuTarget("x86_64-unknown-linux-gnu", "", ("avx512f", "avx512vbmi")), 8),
        (CpuTarget("x86_64-unknown-linux-gnu", "", ("avx512f",)), 48),
        (CpuTarget("x86_64-unknown-linux-gnu", "", ("avx2",)), 24),
        (PROCESSORS["cortex-a53"], 14),
        (PROCESSORS["rv64gcv"], 12),
        (PROCESSORS["rv32imc"], 6),
    ],
)
def test_costs(target: CpuTarget, cost: int) -> None:
    assert lookup_cost(target) == cost
