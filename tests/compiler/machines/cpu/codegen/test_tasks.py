"""Parallel loops as tasks: what a closure holds, how one is launched, and memory of workers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numpy.typing import NDArray

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.cpu.codegen import ThreadPool, compile_function
from tandem.compiler.machines.cpu.codegen.llvm import BYTE, I64, POINTER, constant
from tandem.compiler.machines.cpu.codegen.module import build_module
from tandem.compiler.machines.cpu.codegen.storage import Slot, StoragePlan
from tandem.compiler.machines.cpu.codegen.tasks import (
    TASK,
    Tasks,
    close_frame,
    open_frame,
    stack,
)
from tests.support.compiler.machines.cpu.emitted import AVX512, SSE, frame_of, instructions, opcodes
from tests.support.compiler.machines.cpu.native import EXACT, same_as_interpreter

A = Buffer("A", (4,), FLOAT32)


def numbers(*shape: int) -> NDArray[Any]:
    return np.random.default_rng(1).integers(-50, 50, shape).astype(np.int32)


def text_of(program: str) -> str:
    text, _ = build_module(parse(program), AVX512)
    return text


def functions_of(text: str) -> dict[str, str]:
    """The bodies of the functions that a module defines, by name."""
    whole = r'^define [^@]*@"([^"]+)"\([^\n]*\n\{(.*?)^\}'
    found = re.findall(whole, text, re.MULTILINE | re.DOTALL)
    return dict(found)


SCALED = """
func f(A: int32[6, 5], B: int32[5]) -> (C: int32[6, 5], D: int32[6]):
  for g in 2:
    for r in 3 parallel:
      for i in 5:
        C[g * 3 + r, i] = A[g * 3 + r, i] * B[i]
  for s in 6 parallel:
    D[s] = A[s, 0]
"""


def test_a_task_has_what_its_body_uses() -> None:
    """Numbers of loops around, then the pointers of its buffers, and the workspace."""
    text = text_of(SCALED)
    functions = functions_of(text)
    assert [*functions] == ["compiled.f", "compiled.f.0", "compiled.f.1"]
    assert text.count("define internal") == 2
    body = functions["compiled.f"]
    closures = re.findall(r"alloca \{([^}]*)\}, align 64", body)
    assert [each.replace(" ", "") for each in closures] == ["i64,ptr,ptr,ptr,ptr", "ptr,ptr,ptr"]
    held = re.findall(r"load (\S+), ptr %\S+", functions["compiled.f.0"].partition("start:")[0])
    assert [each.rstrip(",") for each in held] == ["i64", "ptr", "ptr", "ptr", "ptr"]
    same_as_interpreter(parse(SCALED), [numbers(6, 5), numbers(5)])


def test_loops_are_launched_where_there_is_a_launcher() -> None:
    """With the state of the call, the task, the closure and the number of iterations; and run here,
    as worker 0, where there is none."""
    body = functions_of(text_of(SCALED))["compiled.f"]
    state = re.findall(r"icmp eq ptr (%\S+), null", body)
    assert len(state) == 2
    assert len(set(state)) == 1
    alone = re.findall(r'call void @"compiled.f.0"\((.*)\)', body)
    assert [re.sub(r"%[^ ,]+", "%", each) for each in alone] == ["ptr %, i64 0, i64 3, i64 0"]
    # llvmlite's functions have typed pointers.
    body = re.sub(r"void \([^)]*\)\* @", "ptr @", body)
    launched = re.findall(r"call void %\S+\((.*)\)", body)
    assert [re.sub(r"%[^ ,]+", "%", each) for each in launched] == [
        'ptr %, ptr @"compiled.f.0", ptr %, i64 3',
        'ptr %, ptr @"compiled.f.1", ptr %, i64 6',
    ]
    assert [re.findall(r"%\S+", each)[0].rstrip(",") for each in launched] == state
    with ThreadPool(3) as pool:
        target = replace(EXACT, threads=3)
        same_as_interpreter(parse(SCALED), [numbers(6, 5), numbers(5)], target, pool)


def test_a_task_runs_a_part_of_the_iterations() -> None:
    """From its second argument to before its third, which may be none."""
    task = functions_of(text_of(SCALED))["compiled.f.1"]
    compared = re.findall(r"icmp slt i64 (\S+), (\S+)", task)
    assert compared[0] == ('%".2"', '%".3"')
    assert [each[1] for each in compared] == ['%".3"'] * 2


WORKERS = """
func f(A: int32[8, {0}]) -> (C: int32[8, {0}], D: int32[{0}]):
  alloc all: int32[{0}]
  for z in {0}:
    all[z] = A[0, z]
  for r in 8 parallel:
    alloc own: int32[{0}]
    for i in {0}:
      own[i] = A[r, i] + all[i]
    for j in {0}:
      C[r, j] = own[{0} - 1 - j]
  for y in {0}:
    D[y] = all[y]
"""


def test_workers_have_memory_of_their_own() -> None:
    """Behind what all share, each as much: 40000 bytes are 625 lines of 64."""
    task = functions_of(text_of(WORKERS.format(10_000)))["compiled.f.0"]
    assert re.findall(r"mul nsw i64 %\"\.4\", (\d+)", task) == ["40000"]
    assert re.findall(r"add nsw i64 (\d+), ", task)[:1] == ["40000"]
    program, given = parse(WORKERS.format(2000)), numbers(8, 2000)
    with ThreadPool(3) as pool:
        found = compile_function(program, replace(EXACT, threads=3), pool)(given)
    assert (found[0] == (given + given[0])[:, ::-1]).all()
    assert (found[1] == given[0]).all()


def test_a_parallel_loop_in_a_task_is_serial() -> None:
    program = """
func f(A: int32[4, 6]) -> (C: int32[4, 6]):
  for r in 4 parallel:
    for i in 6 parallel:
      C[r, i] = A[r, i] + int32(r)
"""
    assert [*functions_of(text_of(program))] == ["compiled.f", "compiled.f.0"]
    same_as_interpreter(parse(program), [numbers(4, 6)])


def test_known_numbers_are_known_in_a_task() -> None:
    """Those of unrolled loops need no place in a closure."""
    program = """
func f(A: int32[2, 3]) -> (C: int32[2, 3]):
  for u in 2 unrolled:
    for r in 3 parallel:
      C[u, r] = A[u, r] * int32(u)
"""
    text = text_of(program)
    closures = re.findall(r"alloca \{([^}]*)\}", text)
    assert [each.replace(" ", "") for each in closures] == ["ptr,ptr,ptr"] * 2
    assert [*functions_of(text)] == ["compiled.f", "compiled.f.0", "compiled.f.1"]
    same_as_interpreter(parse(program), [numbers(2, 3)])


def test_ranges_of_loops_around_are_known_in_a_task() -> None:
    """By them nothing of a quotient can be negative, and no element is out of bounds."""
    program = """
func f(A: int32[12]) -> (C: int32[6, 2]):
  for g in 6:
    for r in 2 parallel:
      C[g, r] = select(r < 1, A[g // 2], A[(g + r) % 4])
"""
    task = functions_of(text_of(program))["compiled.f.0"]
    assert "udiv" in task
    assert "urem" in task
    # Both sides of the condition are read: no branch chooses.
    assert task.count("phi") == 1
    same_as_interpreter(parse(program), [numbers(12)])


def test_errors_say_where_a_task_is() -> None:
    program = """
func f() -> (C: int32[4, 16]):
  for g in 4 parallel:
    for i in 16 vectorized:
      C[g, i] = 0
      for j in i:
        C[g, i] = C[g, i] + 1
"""
    with pytest.raises(CodegenError, match="f / g / i: j: its extent differs between lanes"):
        build_module(parse(program), SSE)


def test_streamed_buffers_are_prefetched_in_tasks_too() -> None:
    program = """
func f(A: int32[4, 64]) -> (C: int32[4, 64]):
  for r in 4 parallel:
    for i in 64 vectorized:
      C[r, i] = A[r, i]
"""
    for streamed, found in (((), 0), (("A",), 4)):
        text, _ = build_module(parse(program), AVX512, streamed)
        assert text.count('call void @"llvm.prefetch') == found


def test_memory_is_allocated_once() -> None:
    """On the stack, or at an offset of the workspace."""
    frame = frame_of(SSE, A)
    frame.workspace = frame.builder.function.args[0]
    tasks = Tasks(frame.builder.module, StoragePlan({}, 0, 0), 128)
    on_stack = Slot(Buffer("t", (5,), FLOAT32), 1, None, False)
    first = tasks.allocate(frame, on_stack)
    assert tasks.allocate(frame, on_stack) is first
    assert (str(first.type), first.align) == ("ptr", 64)
    assert "alloca [64 x i8]" in str(first)
    away = tasks.allocate(frame, Slot(Buffer("u", (5,), INT8), 1, 192, False))
    assert [str(each) for each in away.operands[1:]] == ["i64 192"]
    assert away.source_etype == BYTE
    assert frame.stack == {"t": first, "u": away}
    # All of it at the beginning of the function.
    assert [each.opname for each in frame.entry.block.instructions] == ["alloca", "getelementptr"]
    assert not frame.builder.block.instructions


def test_frames() -> None:
    function = ir.Function(ir.Module(), TASK, "task")
    where = ["f", "i"]
    frame = open_frame(function, {"A": (1, None)}, SSE, where)
    assert [each.name for each in function.blocks] == ["entry", "start"]
    assert (frame.entry.block, frame.builder.block) == (function.blocks[0], function.blocks[1])
    assert (frame.workspace, frame.launch) == (None, None)
    assert frame.tags == {"A": (1, None)}
    assert (frame.target, frame.where) == (SSE, where)
    memory = stack(frame.entry, I64)
    assert (memory.type, memory.align) == (POINTER, 64)
    frame.builder.store(constant(I64, 1), memory, align=8)
    close_frame(frame)
    assert opcodes(frame) == ["alloca", "br", "store", "ret void"]
    assert [each.opname for each in instructions(frame)][1] == "br"
    assert [str(each) for each in TASK.args] == ["ptr", "i64", "i64", "i64"]
