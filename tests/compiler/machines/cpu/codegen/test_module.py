"""The LLVM module as a whole."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir import For, LoopKind, Var
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.ir.parser import parse
from tandem.compiler.lower import lower
from tandem.compiler.machines.cpu.codegen import CpuTarget, emit_object
from tandem.compiler.machines.cpu.codegen.module import build_module
from tandem.compiler.machines.cpu.schedules.generic import cpu_schedule
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.operators.slicing import concat
from tandem.compiler.te import placeholder
from tests.support.compiler.machines.cpu.native import EXACT, HOST

SHARED = """
func f(A: float32[20000]) -> (C: float32[20000]):
  for a in 1:
    alloc s: float32[20000]
    for i in 20000:
      s[i] = A[i] + 1.0
    for j in 20000:
      C[j] = s[19999 - j]
  for b in 1:
    alloc t: float32[20000]
    for k in 20000:
      t[k] = A[k] * 2.0
    for l in 20000:
      C[l] = C[l] + t[19999 - l]
"""


def apart_from(text: str, buffer: str) -> set[str]:
    """The buffers that accesses to one are said to keep away from."""
    nodes = dict(re.findall(r"^!(\d+) = !{ (.*) }$", text, re.MULTILINE))
    names = {
        number: found[1]
        for number, node in nodes.items()
        if (found := re.match('!"(.*)", !', node))
    }
    result: set[str] = set()
    for own, others in re.findall(r"!alias.scope !(\d+), !noalias !(\d+)", text):
        if [names[each] for each in re.findall(r"\d+", nodes[own])] == [buffer]:
            result |= {names[each] for each in re.findall(r"\d+", nodes[others])}
    return result


def test_buffers_that_share_memory_are_not_said_to_be_apart() -> None:
    text, _ = build_module(lower(parse(SHARED)), HOST)
    assert apart_from(text, "s") == {"A", "C"}
    assert apart_from(text, "t") == {"A", "C"}
    assert apart_from(text, "C") == {"A", "s", "t"}


def test_what_unrolling_makes_too_long_is_refused() -> None:
    program = """
func f(A: float32[400, 400]) -> (C: float32[400, 400]):
  for i in 400 unrolled:
    for j in 400 unrolled:
      C[i, j] = A[i, j]
"""
    with pytest.raises(CodegenError, match=r"f: .* write out 160000 .* than 20000; .* inside i, j"):
        emit_object(parse(program), EXACT)


@pytest.mark.parametrize("kind", ["vectorized", "unrolled"])
def test_the_extent_of_such_a_loop_is_a_number(kind: str) -> None:
    """The verifier refuses this first; the back end does so for who skips it."""
    program = parse(
        "func f() -> (C: float32[4]):\n  for i in 4:\n    for j in 4:\n      C[j] = 0.0\n"
    )
    assert isinstance(program.body, For)
    assert isinstance(program.body.body, For)
    inner = replace(program.body.body, kind=LoopKind(kind), extent=Var("i"))
    broken = replace(program, body=replace(program.body, body=inner))
    with pytest.raises(CodegenError, match=f"j is {kind}: its extent must be a number"):
        build_module(broken, EXACT)


def test_parameters_lie_in_global_memory() -> None:
    program = "func f(A: float32[4] @ local) -> (C: float32[4]):\n  C[0] = A[0]\n"
    with pytest.raises(
        CodegenError, match="parameter A lies in local, which callers cannot access"
    ):
        build_module(parse(program), EXACT)


def test_lanes_that_do_not_run_leave_alone_what_threads_share() -> None:
    """On a thread's own stack an element may be read and written back; here others write it."""
    program = """
func f(A: float32[16]) -> (C: float32[16]):
  alloc t: float32[16] @ local
  for p in 2{kind}:
    for i in 16 vectorized:
      if i % 2 == p:
        t[i] = A[i]
  for j in 16 vectorized:
    C[j] = t[j]
"""
    parallel, _ = build_module(lower(parse(program.format(kind=" parallel"))), HOST)
    serial, _ = build_module(lower(parse(program.format(kind=""))), HOST)
    assert "llvm.masked.store" in parallel
    assert "llvm.masked.store" not in serial


@pytest.mark.parametrize(("count", "branches"), [(3, False), (20, True)])
def test_rows_of_many_tensors_are_found_by_branches(count: int, branches: bool) -> None:
    """Under masks alone each row would be read from every tensor."""
    rows = [placeholder((1, 16), FLOAT32, f"x{number}") for number in range(count)]
    features = ("avx", "avx2", "avx512f", "avx512vl", "fma")
    target = CpuTarget("x86_64-unknown-linux-gnu", "skylake-avx512", features)
    schedule = cpu_schedule(concat(rows, 0), simd=Simd.of(target), inputs=rows)
    text, _ = build_module(lower(schedule.program), target)
    assert "llvm.masked.load" in text
    assert ("otherwise:" in text) == branches
