"""OpenCL C: its text, and the bits that it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import IRError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import (
    BOOL,
    FLOAT16,
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
    Kind,
)
from tandem.compiler.ir.expr import (
    Binary,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    binary_dtype,
    unary_dtype,
)
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.ops import cast, index, reinterpret
from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc, Seq, Store
from tandem.compiler.machines.gpu.codegen.opencl import kernel_name, opencl_text
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tests.support.compiler.machines.gpu.on_opencl import on_opencl, opencl_device
from tests.support.compiler.machines.gpu.schedules import Tile, product
from tests.support.compiler.te.schedules import random_inputs

MACHINE = GpuMachine()
INTEGERS = (INT4, UINT4, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64)
TYPES = (BOOL, *INTEGERS, FLOAT32, FLOAT64)
ROUNDED = (
    *(UnaryOp.EXP, UnaryOp.LOG, UnaryOp.SIN, UnaryOp.COS, UnaryOp.TAN, UnaryOp.ASIN),
    *(UnaryOp.ACOS, UnaryOp.ATAN, UnaryOp.SINH, UnaryOp.COSH, UnaryOp.TANH, UnaryOp.ERF),
)
"""Functions whose last bits are the library's."""
COUNT = 64
FEW = (BOOL, INT4, INT8, UINT32, FLOAT32)


def test_golden(golden: Callable[[str, str], None]) -> None:
    program = gpu_program(product(tile=Tile(slots=2), dtype=FLOAT32).program, MACHINE)
    golden("compiler/gpu_product.cl", opencl_text(program))
    assert kernel_name(program.launches[0]) == "tandem_C"


def expressions(a: Expr, b: Expr, dtype: DType, types: Sequence[DType]) -> Iterator[Expr]:
    """Every operation on values of a type, and casts to some."""
    for op in BinaryOp:
        try:
            binary_dtype(op, dtype, dtype)
        except IRError:
            continue
        if op is not BinaryOp.POW:
            yield Binary(op, a, b)
    for unary in UnaryOp:
        try:
            unary_dtype(unary, dtype)
        except IRError:
            continue
        if unary not in ROUNDED:
            yield Unary(unary, a)
    for other in types:
        yield cast(a, other)
    yield Select(Binary(BinaryOp.LT, a, b), a, b)
    if dtype == UINT16:
        yield reinterpret(a, FLOAT16)
    if dtype in (FLOAT32, INT32):
        yield reinterpret(a, INT32 if dtype == FLOAT32 else FLOAT32)


def every_operation(types: Sequence[DType]) -> PrimFunc:
    """A program with all operations on some types, a thread for each element."""
    i = Var("i")
    inputs: list[Buffer] = []
    outputs: list[Buffer] = []
    stores = []
    for dtype in types:
        a, b = (Buffer(f"{name}_{dtype}", (COUNT,), dtype) for name in "ab")
        inputs += [a, b]
        for expr in expressions(Load(a, (i,)), Load(b, (i,)), dtype, types):
            output = Buffer(f"o{len(outputs)}", (COUNT,), expr.dtype)
            outputs.append(output)
            stores.append(Store(output, (i,), expr))
    body = For(i, index(COUNT), LoopKind.THREADS, Seq(tuple(stores)))
    return PrimFunc("all", tuple(inputs), tuple(outputs), body)


def operands(program: PrimFunc) -> list[NDArray[Any]]:
    """Values with the ends of each type among them."""
    arrays = random_inputs(program, 3)
    for buffer, array in zip(program.inputs, arrays, strict=True):
        dtype = buffer.dtype
        if dtype.is_float:
            ends = [np.inf, -np.inf, np.nan, -0.0, 0.5, -2.5, 3e9, -1e20]
        elif dtype.kind is Kind.BOOL:
            continue
        else:
            ends = [dtype.low, dtype.high, 0, 1, dtype.wrap(-1), dtype.high - 1, 2, 3]
        wide = np.int64 if dtype.is_narrow else array.dtype
        values = np.array(ends, wide).astype(array.dtype)
        at = 0 if buffer.name.startswith("a") else 3
        array[at : at + 8] = values
        array[20:28] = values[::-1]
    return arrays


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
