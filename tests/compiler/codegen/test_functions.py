"""Functions of the C library, in one lane and in many."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.codegen import compile_function
from compiler.ir import (
    FLOAT32,
    FLOAT64,
    BinaryOp,
    Buffer,
    Const,
    DType,
    For,
    Function,
    Load,
    LoopKind,
    Store,
    UnaryOp,
    Var,
)
from compiler.ir.expr import binary, unary
from tests.support.native import HOST, same

COUNT = 21
NAMES = {
    UnaryOp.SIN: np.sin,
    UnaryOp.COS: np.cos,
    UnaryOp.TAN: np.tan,
    UnaryOp.ASIN: np.arcsin,
    UnaryOp.ACOS: np.arccos,
    UnaryOp.ATAN: np.arctan,
    UnaryOp.SINH: np.sinh,
    UnaryOp.COSH: np.cosh,
}


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("op", [*NAMES, BinaryOp.POW], ids=lambda op: op.value)
def test_library(op: UnaryOp | BinaryOp, dtype: DType) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, COUNT).astype(dtype.numpy)
    y = rng.uniform(-3, 3, COUNT).astype(dtype.numpy)
    a, b, c = (Buffer(name, (COUNT,), dtype) for name in "ABC")
    i = Var("i")
    if isinstance(op, UnaryOp):
        value, wanted = unary(op, Load(a, (i,))), NAMES[op](x.astype(np.float64))
    else:
        x = np.abs(x)
        value = binary(op, Load(a, (i,)), Load(b, (i,)))
        wanted = np.power(x.astype(np.float64), y.astype(np.float64))
    found = [
        compile_function(
            Function("f", (a, b), (c,), For(i, Const(COUNT), kind, Store(c, (i,), value))), HOST
        )(x, y)[0]
        for kind in (LoopKind.SERIAL, LoopKind.VECTORIZED)
    ]
    same(*found)
    np.testing.assert_allclose(found[0], wanted, rtol=4 * np.finfo(dtype.numpy).eps)
