"""Code for processors that users describe: made in a process of its own, or refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import tandem
from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.parser import parse
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.apart import made_apart
from tandem.compiler.machines.cpu.codegen.machine_code import code_of
from tandem.compiler.machines.cpu.codegen.module import build_module
from tandem.compiler.machines.cpu.processors import PROCESSORS, processor_of

ARM, RISC_V = "aarch64-unknown-linux-gnu", "riscv64-unknown-linux-gnu"
PROGRAM = """
func double(A: float32[8]) -> (B: float32[8]):
  for i in 8 vectorized:
    B[i] = A[i] + A[i]
"""


def settings_of(target: CpuTarget) -> tuple[str, ...]:
    return (target.triple, target.cpu, target.feature_string, target.abi, target.relocation)


def text_for(target: CpuTarget) -> str:
    return build_module(lower(parse(PROGRAM)), target)[0]


def test_the_code_is_the_same() -> None:
    target = PROCESSORS["cortex-a72"]
    text, settings = text_for(target), settings_of(target)
    assert made_apart(text, settings) == code_of(text, *settings)


@pytest.mark.parametrize(
    ("triple", "cpu", "features", "reason"),
    [
        (ARM, "cortex-a720000", (), f"^LLVM knows no processor 'cortex-a720000' of {ARM}$"),
        (ARM, "cortex-a72", ("dotprodd",), f"^LLVM knows no feature 'dotprodd' of {ARM}$"),
    ],
)
def test_names_that_llvm_does_not_know(
    triple: str, cpu: str, features: tuple[str, ...], reason: str
) -> None:
    target = processor_of(triple, cpu, features)
    assert not target.proven
    with pytest.raises(CodegenError, match=reason):
        made_apart(text_for(target), settings_of(target))


def test_networks_for_what_llvm_has_no_code_for() -> None:
    """The program goes on: without a process of its own, LLVM would have warned, or ended it."""
    for device, reason in (
        (tandem.Cpu(ARM, cpu="cortex-a7200"), "LLVM knows no processor 'cortex-a7200'"),
        (
            tandem.Cpu(RISC_V, cpu="generic-rv64", features=["e", "v"]),
            f"^LLVM cannot make code for {RISC_V}, processor generic-rv64, with .*e,.*: .*FP not",
        ),
    ):
        with pytest.raises(CodegenError, match=reason):
            tandem.compile("digits", device, quantize=None)
    run = tandem.Session(tandem.compile("digits", tandem.Cpu(), quantize=None))
    assert run.run({"input": np.zeros((1, 1, 8, 8), np.float32)})["output"].shape == (1, 10)
