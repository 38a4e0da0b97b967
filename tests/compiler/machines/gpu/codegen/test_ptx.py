"""PTX: its text, the numbers that its LLVM module computes, and what `ptxas` says of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT4, INT8, UINT32
from tandem.compiler.ir.expr import Binary, Const, Expr, Load, Unary, Var
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import Alloc, For, LoopKind, PrimFunc, Store
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.gpu.codegen.ptx import PROCESSORS, TRIPLE, ptx_text
from tandem.compiler.machines.gpu.codegen.ptx_module import llvm_text
from tandem.compiler.machines.gpu.launch import (
    SHARED,
    GpuProgram,
    Grid,
    grid_of,
    is_barrier,
    launch_of,
)
from tandem.compiler.machines.gpu.lower.lowering import gpu_program, shared_bytes
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.generic import gpu_schedule
from tandem.compiler.te import compute, placeholder, reduce_axis, sum
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.machines.gpu.every_operation import every_operation, operands
from tests.support.compiler.machines.gpu.kernels_on_host import run_on_host
from tests.support.compiler.machines.gpu.schedules import Tile, product, transposed, window
from tests.support.compiler.te.schedules import random_inputs

MACHINE = GpuMachine()


def lowered(schedule: Schedule) -> GpuProgram:
    """The launches of a schedule."""
    return gpu_program(schedule.program, MACHINE)


def element_wise(expr: Callable[[Expr], Expr]) -> GpuProgram:
    """A program with a thread for each of 8 floats."""
    a, i = Buffer("a", (8,), FLOAT32), Var("i")
    value = expr(Load(a, (i,)))
    out = Buffer("o", (8,), value.dtype)
    body = For(i, index(8), LoopKind.THREADS, Store(out, (i,), value))
    return gpu_program(PrimFunc("f", (a,), (out,), body), MACHINE)


def test_golden(golden: Callable[[str, str], None]) -> None:
    """The module; what LLVM makes of it differs with its version."""
    target = CpuTarget(TRIPLE, "sm_90", ())
    golden("compiler/gpu_window.ll", llvm_text(lowered(window(threads=32)), target))


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("slots", [1, 2])
def test_properties(processor: str, slots: int) -> None:
    program = lowered(product(tile=Tile(slots=slots), dtype=FLOAT32))
    (launch,) = program.launches
    text = ptx_text(program, processor)
    assert f".target {processor}\n" in text
    assert re.findall(r"\.entry (\w+)\(", text) == ["tandem_C"]
    assert text.count(".param .u64 .ptr .global") == 3
    assert ".reqntid 16\n" in text
    shared = [int(size) for size in re.findall(r"\.shared \.align 16 \.b8 \S+\[(\d+)\]", text)]
    assert shared == [slots * 128] * 2
    barriers = [each for each in statements(launch.body) if is_barrier(each)]
    assert text.count("bar.sync") == len(barriers) == 3 - slots
    assert "%ctaid.x" in text
    assert "%tid.x" in text
    # Sums are not contracted: they have the bits of the other outputs of the lowering.
    assert "mul.rn.f32" in text
    assert "fma" not in text


def test_launches_are_entries() -> None:
    a = placeholder((40,), FLOAT32, "A")
    r = reduce_axis(40, "r")
    total = compute((1,), lambda i: sum(a[r], axis=r), "total")
    rest = compute((40,), lambda i: a[i] - total[0], "rest")
    program = lowered(gpu_schedule(rest, machine=MACHINE, inputs=[a], name="f"))
    assert len(program.launches) == 2
    text = ptx_text(program)
    assert re.findall(r"\.entry (\w+)\(", text) == ["tandem_f_0", "tandem_f_1"]


def test_formulas() -> None:
    for op in (UnaryOp.EXP, UnaryOp.LOG, UnaryOp.TANH, UnaryOp.ERF, UnaryOp.SQRT, UnaryOp.ROUND):
        text = ptx_text(element_wise(partial(Unary, op)))
        assert ".extern" not in text
    assert "sqrt.rn.f32" in ptx_text(element_wise(lambda a: Unary(UnaryOp.SQRT, a)))


@pytest.mark.parametrize("op", [UnaryOp.SIN, UnaryOp.ATAN, UnaryOp.COSH])
def test_functions_without_a_formula(op: UnaryOp) -> None:
    with pytest.raises(CodegenError, match=rf"f: {op.value} of float32 has no formula in PTX"):
        ptx_text(element_wise(lambda a: Unary(op, a)))


def test_power_has_no_formula() -> None:
    with pytest.raises(CodegenError, match=r"pow of float32 has no formula"):
        ptx_text(element_wise(lambda a: Binary(BinaryOp.POW, a, Const(2.5, FLOAT32))))


def test_processors() -> None:
    with pytest.raises(CodegenError, match=r"no PTX for sm_20: there is for sm_80, sm_90"):
        ptx_text(lowered(window()), "sm_20")


@pytest.mark.parametrize("scope", [SHARED, Scope.GLOBAL])
def test_memory_of_a_thread(scope: Scope) -> None:
    out, near = Buffer("o", (1,), FLOAT32), Buffer("near", (1,), FLOAT32, scope)
    store = Store(near, (index(0),), Const(1.0, FLOAT32))
    launch = launch_of("f", (), (out,), Grid(1, 1, (), Alloc(near, store)))
    with pytest.raises(CodegenError, match=rf"near of a thread lies in {scope.value}"):
        ptx_text(GpuProgram("f", (), (out,), (), (launch,)))


@pytest.mark.parametrize(
    ("schedule", "barriers"),
    [
        (product(18, 13, 10), 6),  # two for each of three tiles of terms
        (product(18, 13, 10, Tile(slots=2)), 3),
        (window(), 1),
        (transposed(), 1),
    ],
)
def test_numbers(schedule: Schedule, barriers: int) -> None:
    arrays = random_inputs(schedule.program)
    wanted = interpreter.run(schedule.program, arrays)
    found, waited = run_on_host(lowered(schedule), arrays)
    assert waited == [barriers]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_operations() -> None:
    program = every_operation((BOOL, INT4, INT8, UINT32, FLOAT32))
    arrays = operands(program)
    wanted = interpreter.run(program, arrays)
    launches = gpu_program(program, MACHINE)
    found, _ = run_on_host(launches, arrays)
    for buffer, one, other in zip(program.outputs, found, wanted, strict=True):
        same = one == other
        if buffer.dtype.is_float:
            same |= np.isnan(one) & np.isnan(other)
        assert same.all(), (buffer, one[~same], other[~same])
    assert ".entry tandem_all(" in ptx_text(launches)


def test_shared_memory_is_that_of_the_launch() -> None:
    program = lowered(window(threads=32))
    (launch,) = program.launches
    sizes = re.findall(r"\.shared \.align 16 \.b8 \S+\[(\d+)\]", ptx_text(program))
    assert [*map(int, sizes)] == [shared_bytes(grid_of(launch))]
