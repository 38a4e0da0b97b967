"""Machine code of LLVM modules: what LLVM does with their loops, and what it refuses."""

from __future__ import annotations

from ctypes import CFUNCTYPE, c_int32

import pytest

from tandem.base.processor import Host
from tandem.compiler.errors import CodegenError
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.machine_code import (
    SETTINGS,
    code_of,
    machine_of,
    optimise,
)
from tandem.runtime.native.linked import linked

HOST = CpuTarget.host(threads=1)
TRIPLE = Host.detect().triple
TWICE = """
define i32 @twice(i32 %x) {
  %place = alloca i32
  store i32 %x, ptr %place
  %again = load i32, ptr %place
  %sum = add i32 %x, %again
  ret i32 %sum
}
"""
ADDED = """
define void @added(ptr noalias %a, ptr noalias %b, i64 %count) {
entry:
  br label %loop
loop:
  %at = phi i64 [ 0, %entry ], [ %next, %loop ]
  %a.at = getelementptr float, ptr %a, i64 %at
  %b.at = getelementptr float, ptr %b, i64 %at
  %x = load float, ptr %a.at
  %y = load float, ptr %b.at
  %sum = fadd float %x, %y
  store float %sum, ptr %a.at
  %next = add nuw nsw i64 %at, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
FOUR = "define void @four(ptr noalias %a, ptr noalias %b) {\n" + "".join(
    f"  %a{at} = getelementptr float, ptr %a, i64 {at}\n"
    f"  %b{at} = getelementptr float, ptr %b, i64 {at}\n"
    f"  %x{at} = load float, ptr %a{at}\n"
    f"  %y{at} = load float, ptr %b{at}\n"
    f"  %s{at} = fadd float %x{at}, %y{at}\n"
    f"  store float %s{at}, ptr %a{at}\n"
    for at in range(4)
)
FOUR += "  ret void\n}\n"


def test_code_that_runs() -> None:
    code = code_of(TWICE, HOST.triple, HOST.cpu, HOST.feature_string, HOST.abi, HOST.relocation)
    loaded = linked(HOST.triple, code, ("twice",))
    twice = CFUNCTYPE(c_int32, c_int32)(loaded.addresses["twice"])
    assert [twice(x) for x in (3, -20)] == [6, -40]


def test_modules_are_optimised() -> None:
    found = str(optimise(TWICE, machine_of(HOST)))
    assert "alloca" not in found
    assert 'target datalayout = "e-' in found


@pytest.mark.parametrize("text", [ADDED, FOUR], ids=["loop", "statements"])
def test_loops_are_as_they_were_written(text: str) -> None:
    """Neither unrolled nor in vectors."""
    found = str(optimise(text, machine_of(HOST)))
    assert " x float>" not in found
    assert found.count("fadd") == text.count("fadd")


def test_all_that_determines_an_object() -> None:
    version, settings = SETTINGS
    assert version
    names = "loop_unrolling", "loop_vectorization", "loop_interleaving", "slp_vectorization"
    wanted = ", ".join(f"'{name}': False" for name in names)
    assert settings == f"3 small {{{wanted}}} data layout"


def test_the_code_generator_of_a_processor() -> None:
    assert machine_of(HOST).triple.partition("-")[0] == TRIPLE.partition("-")[0]


def test_refusals() -> None:
    with pytest.raises(CodegenError, match="LLVM cannot make code for abacus-none here: "):
        code_of(TWICE, "abacus-none", "", "", "", "pic")
    for text in ("define nothing", TWICE.replace("ret i32 %sum", "ret i32 %none")):
        with pytest.raises(CodegenError, match="LLVM refuses the module: "):
            optimise(text, machine_of(HOST))
    # It can be parsed, and is illegal: a block uses what another path defines.
    illegal = """
define i32 @f(i1 %which) {
entry:
  br i1 %which, label %one, label %two
one:
  %x = add i32 1, 2
  br label %two
two:
  ret i32 %x
}
"""
    with pytest.raises(CodegenError, match=r"LLVM refuses the module: .*dominate"):
        optimise(illegal, machine_of(HOST))
