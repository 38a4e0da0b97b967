"""A program with all operations of the loop language, and operands at the ends of types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32, INT32, UINT16, DType, Kind
from tandem.compiler.ir.expr import (
    Binary,
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
from tests.support.compiler.te.schedules import random_inputs

ROUNDED = (
    *(UnaryOp.EXP, UnaryOp.LOG, UnaryOp.SIN, UnaryOp.COS, UnaryOp.TAN, UnaryOp.ASIN),
    *(UnaryOp.ACOS, UnaryOp.ATAN, UnaryOp.SINH, UnaryOp.COSH, UnaryOp.TANH, UnaryOp.ERF),
)
"""Functions whose last bits are the library's."""
COUNT = 64
"""The elements of each operand."""


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
