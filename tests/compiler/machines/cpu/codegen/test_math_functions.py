"""Functions of floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.ir import (
    FLOAT32,
    FLOAT64,
    BinaryOp,
    Buffer,
    Const,
    DType,
    For,
    Load,
    LoopKind,
    PrimFunc,
    Store,
    UnaryOp,
    Var,
)
from tandem.compiler.ir.expr import binary, unary
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tests.support.compiler.machines.cpu.native import EXACT, HOST, same

FEW = 21
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
    x = rng.uniform(-1, 1, FEW).astype(dtype.numpy)
    y = rng.uniform(-3, 3, FEW).astype(dtype.numpy)
    a, b, c = (Buffer(name, (FEW,), dtype) for name in "ABC")
    i = Var("i")
    if isinstance(op, UnaryOp):
        value, wanted = unary(op, Load(a, (i,))), NAMES[op](x.astype(np.float64))
    else:
        x = np.abs(x)
        value = binary(op, Load(a, (i,)), Load(b, (i,)))
        wanted = np.power(x.astype(np.float64), y.astype(np.float64))
    found = [
        compile_function(
            PrimFunc("f", (a, b), (c,), For(i, Const(FEW), kind, Store(c, (i,), value))), HOST
        )(x, y)[0]
        for kind in (LoopKind.SERIAL, LoopKind.VECTORIZED)
    ]
    same(*found)
    np.testing.assert_allclose(found[0], wanted, rtol=4 * np.finfo(dtype.numpy).eps)


COUNT = 20_011  # many vectors and a rest
ERRORS = {UnaryOp.EXP: 2.0, UnaryOp.LOG: 2.0, UnaryOp.TANH: 2.0, UnaryOp.ERF: 4.0}
"""Units in the last place."""
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-30, -1e-30, 1e30, -1e30]


def of_all(op: UnaryOp, dtype: DType, kind: LoopKind, count: int = COUNT) -> PrimFunc:
    a, b, i = Buffer("A", (count,), dtype), Buffer("B", (count,), dtype), Var("i")
    store = Store(b, (i,), unary(op, Load(a, (i,))))
    return PrimFunc("f", (a,), (b,), For(i, Const(count), kind, store))


def samples(op: UnaryOp, dtype: DType) -> NDArray[Any]:
    rng = np.random.default_rng(3)
    half = COUNT // 2
    match op, dtype.bits:
        case UnaryOp.EXP, 32:
            values = rng.uniform(-104, 89, COUNT)
        case UnaryOp.EXP, _:
            values = rng.uniform(-746, 710, COUNT)
        case UnaryOp.LOG, _:
            near = rng.uniform(0.5, 2, half)
            values = np.concatenate([near, np.exp(rng.uniform(-85, 85, COUNT - half))])
        case _:
            near = rng.uniform(-1, 1, half)
            values = np.concatenate([near, rng.uniform(-10, 10, COUNT - half)])
    result = values.astype(dtype.numpy)
    info = np.finfo(dtype.numpy)
    special = [*SPECIAL, info.smallest_subnormal, info.tiny, info.max, -info.max]
    result[: len(special)] = np.array(special, dtype.numpy)
    return result


def truth(op: UnaryOp, values: NDArray[Any]) -> NDArray[Any]:
    """In more digits than the values have, except of erf, where a double is all there is."""
    if op is UnaryOp.ERF:
        return np.array([math.erf(each) for each in values.tolist()], np.longdouble)
    wide = values.astype(np.longdouble)
    with np.errstate(all="ignore"):
        result: NDArray[Any] = {UnaryOp.EXP: np.exp, UnaryOp.LOG: np.log, UnaryOp.TANH: np.tanh}[
            op
        ](wide)
    return result


@pytest.mark.parametrize("target", [HOST, EXACT], ids=["fused", "separate"])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("op", ERRORS, ids=lambda op: op.value)
def test_elementary(op: UnaryOp, dtype: DType, target: CpuTarget) -> None:
    values = samples(op, dtype)
    (vector,) = compile_function(of_all(op, dtype, LoopKind.VECTORIZED), target)(values)
    (scalar,) = compile_function(of_all(op, dtype, LoopKind.SERIAL), target)(values)
    same(vector, scalar)

    wanted = truth(op, values)
    with np.errstate(all="ignore"):
        rounded = wanted.astype(dtype.numpy)
        unit = np.spacing(np.abs(rounded)).astype(np.longdouble)
        ordinary = np.isfinite(rounded)
        error = np.abs(vector.astype(np.longdouble) - wanted)[ordinary] / unit[ordinary]
    assert float(error.max()) <= ERRORS[op]
    np.testing.assert_array_equal(vector[~ordinary], rounded[~ordinary])
    zeros = rounded == 0
    np.testing.assert_array_equal(np.signbit(vector[zeros]), np.signbit(rounded[zeros]))


@dataclass(frozen=True)
class Coarse(CpuTarget):
    """This processor as one that lacks the instructions which round to whole numbers."""

    @property
    def has_rounding(self) -> bool:
        return False


ROUNDINGS = {UnaryOp.FLOOR: np.floor, UnaryOp.CEIL: np.ceil, UnaryOp.ROUND: np.rint}


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("op", ROUNDINGS, ids=lambda op: op.value)
def test_rounding_without_an_instruction(op: UnaryOp, dtype: DType) -> None:
    """To the bit, signs of zeros included; of NaN that it is one."""
    mantissa = 23 if dtype.bits == 32 else 52
    halves = np.arange(-41, 41) / 4
    large = 2.0 ** np.arange(mantissa - 3, mantissa + 3)
    large = np.concatenate([large - 0.5, large, large + 0.5, large + 1.5])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 0.49999997, -0.75])
    random = np.random.default_rng(0).standard_normal(200) * 1000
    values = np.concatenate([halves, large, -large, special, random]).astype(dtype.numpy)
    target = Coarse(HOST.triple, HOST.cpu, HOST.features, HOST.threads)
    with np.errstate(invalid="ignore"):
        wanted = ROUNDINGS[op](values)
    for kind in (LoopKind.VECTORIZED, LoopKind.SERIAL):
        (found,) = compile_function(of_all(op, dtype, kind, len(values)), target)(values)
        np.testing.assert_array_equal(found, wanted)
        ordinary = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found)[ordinary], np.signbit(wanted)[ordinary])
