"""Entries of small tables are permutations of a register, or computed, as the interpreter does."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.ir.code_tables import entry_of
from tandem.compiler.ir.dtypes import UINT8
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.module import build_module
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.te import Schedule, compute, placeholder
from tests.support.compiler.machines.cpu.native import HOST, same_as_interpreter

ANY = (0, -128, 127, 5, -1, *range(11))
WRAPPED = (*range(8), *range(-8, 0))
AFFINE = tuple(range(-30, 18, 3))
FEW = (9, -9, 0, 127)
TARGETS = {
    "host": HOST,
    "avx2": HOST.without("avx512f"),
    "ssse3": HOST.without("avx", "avx2", "avx512f"),
    "none": HOST.without("ssse3", "sse4.1", "sse4.2", "avx", "avx2", "avx512f"),
}


def vectors(lanes: int, table: tuple[int, ...]) -> PrimFunc:
    codes = placeholder((lanes,), UINT8, "A")
    entries = compute((lanes,), lambda i: entry_of(codes[i], table), "C", "i")
    return Schedule.of(entries).vectorize("C", "i").program


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("table", [ANY, WRAPPED, AFFINE, FEW], ids=str)
@pytest.mark.parametrize("lanes", [2, 16, 31, 64, 200])
def test_entries(lanes: int, table: tuple[int, ...], target: CpuTarget) -> None:
    codes = np.resize(np.arange(len(table), dtype=np.uint8), lanes)
    same_as_interpreter(vectors(lanes, table), [codes], target)


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        (HOST.without("avx512f"), "avx2.pshuf.b"),
        (TARGETS["ssse3"], "ssse3.pshuf.b"),
        (PROCESSORS["cortex-a72"], "neon.tbl1"),
    ],
)
def test_instructions(target: CpuTarget, instruction: str) -> None:
    text, _ = build_module(lower(vectors(64, ANY)), target)
    assert instruction in text
