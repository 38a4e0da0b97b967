"""Modules of kernels: their grids, memories and what is known of them, in LLVM's text."""

from __future__ import annotations

import re

import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32, INT8, INT32
from tandem.compiler.ir.expr import Binary, Const, Expr, Load, Unary, Var
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.ops import index, select
from tandem.compiler.ir.stmt import For, If, LoopKind, Seq, Stmt, Store
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.gpu.codegen.ptx import TRIPLE
from tandem.compiler.machines.gpu.codegen.ptx_module import llvm_text
from tandem.compiler.machines.gpu.launch import (
    BLOCK,
    SHARED,
    THREAD,
    GpuProgram,
    Grid,
    launch_of,
)
from tandem.compiler.operators import stored_floats

TARGET = CpuTarget(TRIPLE, "sm_80", ())
A, OUT = Buffer("A", (96,), FLOAT32), Buffer("out", (96,), FLOAT32)
AT = BLOCK * 32 + THREAD


def text_of(
    body: Stmt,
    threads: int = 32,
    shared: tuple[Buffer, ...] = (),
    inputs: tuple[Buffer, ...] = (A,),
    outputs: tuple[Buffer, ...] = (OUT,),
    launches: int = 1,
) -> str:
    """The module of launches of three blocks."""
    made = tuple(
        launch_of(
            f"f_{number}" if launches > 1 else "f", inputs, outputs, Grid(3, threads, shared, body)
        )
        for number in range(launches)
    )
    return llvm_text(GpuProgram("f", inputs, outputs, (), made), TARGET)


def copied(value: Expr | None = None) -> Store:
    return Store(OUT, (AT,), Load(A, (AT,)) if value is None else value)


def test_kernels() -> None:
    text = text_of(copied(), launches=2)
    assert f'target triple = "{TRIPLE}"' in text
    heads = re.findall(r"^define (.*)$", text, re.MULTILINE)
    pointer = "ptr addrspace(1) noalias align 16"
    assert [re.sub(r' %"\.\d+"', "", each) for each in heads] == [
        f'ptx_kernel void @"tandem_f_{number}"({pointer}, {pointer}) nounwind' for number in (0, 1)
    ]
    # The number of threads of a block, for each kernel.
    sizes = re.findall(r'@"(\w+)", !"reqntidx", i32 (\d+) }', text)
    assert sizes == [("tandem_f_0", "32"), ("tandem_f_1", "32")]
    assert len(re.findall(r"!nvvm.annotations = !{ !\d+, !\d+ }", text)) == 1
    assert '"reqntidx", i32 7 }' in text_of(copied(), threads=7)


def test_numbers_of_a_thread_are_those_of_its_block() -> None:
    text = text_of(copied())
    calls = re.findall(r'call i32 @"llvm.nvvm.read.ptx.sreg.(\w+).x"\(\)', text)
    assert calls == ["ctaid", "tid"]
    assert text.count("zext i32") == 2
    # A block's 32 elements lie behind those of the blocks before.
    assert len(re.findall(r"mul nsw i64 %\S+, 32", text)) == 1


def test_what_is_known_of_their_ranges() -> None:
    """Three blocks of 32 threads: both sides of a condition lie in 96 elements, but not in 95."""
    for size, branches in ((96, 0), (95, 1)):
        source = Buffer("A", (size,), FLOAT32)
        value = select(Load(A, (THREAD,)) < 1.0, Load(source, (AT,)), Const(0.0, FLOAT32))
        assert text_of(copied(value), inputs=(source,)).count(" phi ") == branches
    # And none is negative.
    text = text_of(copied(Load(A, (THREAD // 3 + BLOCK // 2,))))
    assert text.count("udiv") == 2
    assert "sdiv" not in text


def test_shared_memory() -> None:
    near, one = Buffer("near", (32,), FLOAT32, SHARED), Buffer("one", (), INT8, SHARED)
    none = Buffer("none", (0,), INT32, SHARED)
    body = Seq((Store(near, (THREAD,), Load(A, (AT,))), copied(Load(near, (index(31) - THREAD,)))))
    text = text_of(body, shared=(near, one, none))
    found = re.findall(r'^@"tandem_f\.(\w+)" = (.*)$', text, re.MULTILINE)
    assert found == [
        (name, f"internal addrspace(3) global [{size}] undef, align 16")
        for name, size in (("near", "32 x float"), ("one", "1 x i8"), ("none", "1 x i32"))
    ]
    assert len(re.findall(r"load float, ptr addrspace\(3\)", text)) == 1
    assert len(re.findall(r"store float %\S+, ptr addrspace\(3\)", text)) == 1


def test_no_two_buffers_overlap() -> None:
    other = Buffer("B", (96,), FLOAT32)
    text = text_of(copied(Load(A, (AT,)) + Load(other, (AT,))), inputs=(A, other))
    nodes = dict(re.findall(r"^!(\d+) = !{ (.*) }$", text, re.MULTILINE))
    names = {f"!{number}": node.split('"')[1] for number, node in nodes.items() if '", !' in node}
    pairs = re.findall(r"!alias.scope !(\d+), !noalias !(\d+)", text)
    found = [
        [{names[each] for each in nodes[number].split(", ")} for number in pair] for pair in pairs
    ]
    assert found == [
        [{"A"}, {"B", "out"}],
        [{"B"}, {"A", "out"}],
        [{"out"}, {"A", "B"}],
    ]
    alone = text_of(Store(OUT, (AT,), Const(1.0, FLOAT32)), inputs=())
    assert "alias.scope" in alone
    assert "noalias !" not in alone


def test_halves_are_converted_by_instructions() -> None:
    halves = Buffer("A", (96,), FLOAT16)
    text = text_of(copied(stored_floats.cast(Load(halves, (AT,)), FLOAT32)), inputs=(halves,))
    assert "fpext half" in text


def test_functions_of_the_library_are_refused() -> None:
    """Wherever they are."""
    element = Load(A, (AT,))
    sine = Unary(UnaryOp.SIN, element)
    var = Var("i")
    for stmt in (
        copied(sine),
        copied(sine + 1.0),
        If(sine < 0.5, copied()),
        Seq((copied(), For(var, index(2), LoopKind.SERIAL, copied(sine)))),
    ):
        with pytest.raises(CodegenError, match=r"f: sin of float32 has no formula in PTX"):
            text_of(stmt)
    with pytest.raises(CodegenError, match=r"f: pow of float32 has no formula in PTX"):
        text_of(copied(Binary(BinaryOp.POW, element, element)))
    for op in (UnaryOp.EXP, UnaryOp.SQRT):
        text_of(copied(Unary(op, element)))
