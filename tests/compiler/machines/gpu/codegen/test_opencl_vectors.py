"""Copies by vectors: their text, and which loops are none."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, FLOAT16, FLOAT32, INT4, INT8, DType
from tandem.compiler.ir.expr import Expr, Load, Var
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc, Store
from tandem.compiler.machines.gpu.codegen.opencl import opencl_text
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.launch import GpuProgram
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tests.support.compiler.machines.gpu.kernels_on_host import run_on_host
from tests.support.compiler.machines.gpu.on_opencl import on_opencl


def copy(
    size: int = 4,
    dtype: DType = FLOAT32,
    step: int = 1,
    kind: LoopKind = LoopKind.VECTORIZED,
) -> GpuProgram:
    """Each of eight threads copies neighbours, or every `step`-th element, in a loop."""
    a, o = Buffer("A", (8 * size * step,), dtype), Buffer("O", (8 * size,), dtype)
    t, v = Var("t"), Var("v")
    at: Expr = (index(7) - t) * (size * step) + v * step
    inner = For(v, index(size), kind, Store(o, (t * size + v,), Load(a, (at,))))
    body = For(t, index(8), LoopKind.THREADS, inner)
    return gpu_program(PrimFunc("f", (a,), (o,), body), GpuMachine())


def vectors(program: GpuProgram) -> list[str]:
    """The sizes of loads and stores of vectors in a text."""
    return re.findall(r"v(?:load|store)\d+", opencl_text(program))


@pytest.mark.parametrize(
    ("size", "dtype"),
    [(2, INT8), (16, INT8), (2, FLOAT16), (8, FLOAT16), (2, FLOAT32), (4, FLOAT32)],
    ids=str,
)
def test_a_loop_is_one_copy(size: int, dtype: DType) -> None:
    program = copy(size, dtype)
    assert vectors(program) == [f"vstore{size}", f"vload{size}"]
    array = np.arange(8 * size).astype(dtype.numpy)
    wanted = array.reshape(8, size)[::-1].ravel()
    np.testing.assert_array_equal(run_program(program, [array], Order.FORWARDS)[0], wanted)
    np.testing.assert_array_equal(on_opencl(program, [array])[0], wanted)


def test_on_this_processor() -> None:
    array = np.arange(32, dtype=np.float32)
    (found,), _ = run_on_host(copy(), [array])
    np.testing.assert_array_equal(found, array.reshape(8, 4)[::-1].ravel())


@pytest.mark.parametrize(
    "program",
    [
        copy(3),
        copy(32, INT8),
        copy(8),
        copy(16, FLOAT16),
        copy(step=2),
        copy(dtype=BOOL),
        copy(dtype=INT4),
        copy(kind=LoopKind.SERIAL),
        copy(kind=LoopKind.UNROLLED),
    ],
    ids=[
        "three",
        "too many",
        "32 bytes",
        "32 bytes of halves",
        "not neighbours",
        "conditions",
        "few bits",
        "serial",
        "unrolled",
    ],
)
def test_other_loops(program: GpuProgram) -> None:
    assert vectors(program) == []
