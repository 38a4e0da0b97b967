"""Object code that LLVM has made is found again."""

from __future__ import annotations

from pathlib import Path

import pytest

import tandem.compiler.machines.cpu.codegen.machine_code as compiling
from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.cpu.codegen import emit_object
from tests.support.compiler.machines.cpu.native import EXACT, HOST

PROGRAM = """
func add(A: float32[20], B: float32[20]) -> (C: float32[20]):
  for i in 20 vectorized:
    C[i] = A[i] * B[i] + B[i]
"""


def test_llvm_works_once_for_a_text_and_a_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path))
    optimise, texts = compiling.optimise, list[str]()

    def counted(text: str, machine: object) -> object:
        texts.append(text)
        return optimise(text, machine)

    monkeypatch.setattr(compiling, "optimise", counted)
    objects = [emit_object(parse(PROGRAM), target) for target in (HOST, EXACT, HOST, EXACT)]
    assert objects[:2] == objects[2:]
    assert len(texts) == 2
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2
