"""OpenCL C: its text, and the bits that it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tandem.compiler.ir import interpreter
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT4,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT4,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    DType,
)
from tandem.compiler.ir.expr import (
    Binary,
    Const,
    Expr,
    Load,
    Unary,
    Var,
)
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.ops import cast, index
from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc, Seq, Store
from tandem.compiler.machines.gpu.codegen.opencl import kernel_name, opencl_text
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tests.support.compiler.machines.gpu.every_operation import (
    COUNT,
    ROUNDED,
    every_operation,
    operands,
)
from tests.support.compiler.machines.gpu.on_opencl import on_opencl, opencl_device
from tests.support.compiler.machines.gpu.schedules import Tile, product
from tests.support.compiler.te.schedules import random_inputs

MACHINE = GpuMachine()
INTEGERS = (INT4, UINT4, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64)
TYPES = (BOOL, *INTEGERS, FLOAT32, FLOAT64)
FEW = (BOOL, INT4, INT8, UINT32, FLOAT32)


def test_golden(golden: Callable[[str, str], None]) -> None:
    program = gpu_program(product(tile=Tile(slots=2), dtype=FLOAT32).program, MACHINE)
    golden("compiler/gpu_product.cl", opencl_text(program))
    assert kernel_name(program.launches[0]) == "tandem_C"


@pytest.mark.parametrize("stored", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("computed", [FLOAT32, FLOAT64], ids=str)
def test_a_text_with_doubles_says_so(stored: DType, computed: DType) -> None:
    """Those that are stored, and those between two loads and stores of others."""
    i, a, out = Var("i"), Buffer("a", (4,), stored), Buffer("out", (4,), stored)
    value = Unary(UnaryOp.SQRT, cast(Load(a, (i,)), computed))
    body = For(i, index(4), LoopKind.THREADS, Store(out, (i,), cast(value, stored)))
    text = opencl_text(gpu_program(PrimFunc("roots", (a,), (out,), body), MACHINE))
    assert ("cl_khr_fp64 : enable" in text) == (FLOAT64 in (stored, computed))


def check(types: Sequence[DType]) -> None:
    """Compare all operations on some types with the interpreter's."""
    opencl_device()
    program = every_operation(types)
    arrays = operands(program)
    wanted = interpreter.run(program, arrays)
    found = on_opencl(gpu_program(program, MACHINE), arrays)
    for buffer, one, other in zip(program.outputs, found, wanted, strict=True):
        same = one == other
        if buffer.dtype.is_float or buffer.dtype.is_stored_float:
            same |= np.isnan(one) & np.isnan(other)
        assert same.all(), (buffer, one[~same], other[~same])


def test_operations_on_some_types() -> None:
    check(FEW)


@pytest.mark.exhaustive
def test_operations_on_all_types() -> None:
    check(TYPES)


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_functions_of_floats(dtype: DType) -> None:
    opencl_device()
    i = Var("i")
    a = Buffer("a", (COUNT,), dtype)
    load = Load(a, (i,))
    exprs: list[Expr] = [Unary(op, load) for op in ROUNDED]
    exprs.append(Binary(BinaryOp.POW, Unary(UnaryOp.ABS, load), Const(1.5, dtype)))
    outputs = [Buffer(f"o{number}", (COUNT,), dtype) for number in range(len(exprs))]
    stores = [Store(each, (i,), expr) for each, expr in zip(outputs, exprs, strict=True)]
    body = For(i, index(COUNT), LoopKind.THREADS, Seq(tuple(stores)))
    program = PrimFunc("functions", (a,), tuple(outputs), body)
    arrays = [np.random.default_rng(1).uniform(-1, 1, COUNT).astype(dtype.numpy)]
    wanted = interpreter.run(program, arrays)
    found = on_opencl(gpu_program(program, MACHINE), arrays)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=8 * np.finfo(dtype.numpy).eps, atol=1e-38)


@pytest.mark.parametrize("slots", [1, 2])
def test_products(slots: int) -> None:
    program = gpu_program(product(18, 13, 10, Tile(slots=slots)).program, MACHINE)
    a, b = random_inputs(product(18, 13, 10).program)
    (found,) = on_opencl(program, [a, b])
    np.testing.assert_array_equal(found, a @ b)
