"""Every operation on every type, one lane and many, against the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import IRError
from tandem.compiler.ir import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    Binary,
    BinaryOp,
    Buffer,
    Cast,
    Const,
    DType,
    Expr,
    For,
    Kind,
    Load,
    LoopKind,
    PrimFunc,
    Stmt,
    Store,
    UnaryOp,
    Var,
)
from tandem.compiler.ir.expr import binary, unary
from tandem.compiler.ir.visit import sequence
from tandem.compiler.machines.cpu.codegen import compile_function
from tests.support.compiler.ir.ir_strategies import ARRAY_TYPES, TYPES
from tests.support.compiler.machines.cpu.native import (
    EXACT,
    HOST,
    run_text,
    same,
    same_as_interpreter,
)

LIBRARY = set(UnaryOp) - {UnaryOp.NEG, UnaryOp.NOT, UnaryOp.ABS, UnaryOp.SQRT}
LIBRARY -= {UnaryOp.FLOOR, UnaryOp.CEIL, UnaryOp.ROUND}
"""What is not rounded exactly: `test_functions`."""


def edges(dtype: DType) -> NDArray[Any]:
    """Values where operations tend to go wrong."""
    if dtype == BOOL:
        return np.array([False, True])
    if dtype.is_float:
        tiny = np.finfo(dtype.numpy).smallest_subnormal
        floats = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3e9, -3e9, 1e20, tiny, np.inf, np.nan]
        return np.array([*floats, -np.inf, 127.5, 255.99, 0.1], dtype.numpy)
    values = {0, 1, 2, 3, 7, dtype.bits - 1, dtype.bits, dtype.bits + 1, dtype.high, dtype.high - 1}
    values |= {dtype.low, dtype.low + 1, *((-1, -2, -7) if dtype.kind is Kind.INT else ())}
    fitting = [each for each in sorted(values) if dtype.low <= each <= dtype.high]
    return np.array(fitting, dtype.numpy)


def everywhere(
    inputs: list[Buffer], exprs: list[Callable[[Expr], Expr]], size: int, kind: LoopKind
) -> PrimFunc:
    """A loop for each expression of an element's index, over all elements."""
    loops: list[Stmt] = []
    outputs = []
    for number, make in enumerate(exprs):
        var = Var(f"i{number}")
        value = make(var)
        output = Buffer(f"O{number}", (size,), value.dtype)
        outputs.append(output)
        loops.append(For(var, Const(size), kind, Store(output, (var,), value)))
    return PrimFunc("f", tuple(inputs), tuple(outputs), sequence(*loops))


def defined(op: BinaryOp, dtype: DType) -> bool:
    try:
        binary(op, Var("x", dtype), Var("x", dtype))
    except IRError:
        return False
    return op is not BinaryOp.POW


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.VECTORIZED])
@pytest.mark.parametrize("dtype", ARRAY_TYPES, ids=str)
def test_binary(dtype: DType, kind: LoopKind) -> None:
    pairs = list(product(edges(dtype), repeat=2))
    left, right = (np.array(each, dtype.numpy) for each in zip(*pairs, strict=True))
    a, b = (Buffer(name, left.shape, dtype) for name in "AB")

    def apply(op: BinaryOp) -> Callable[[Expr], Expr]:
        return lambda i: Binary(op, Load(a, (i,)), Load(b, (i,)))

    ops = [apply(op) for op in BinaryOp if defined(op, dtype)]
    function = everywhere([a, b], ops, len(left), kind)
    for target in (EXACT, HOST):
        same_as_interpreter(function, [left, right], target)


@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.VECTORIZED])
@pytest.mark.parametrize("dtype", ARRAY_TYPES, ids=str)
def test_binary_by_a_constant(dtype: DType, kind: LoopKind) -> None:
    """LLVM knows more, and does something else."""
    values = edges(dtype)
    a = Buffer("A", values.shape, dtype)

    def apply(op: BinaryOp, value: Any) -> Callable[[Expr], Expr]:
        return lambda i: Binary(op, Load(a, (i,)), Const(value.item(), dtype))

    ops = [apply(op, value) for op in BinaryOp if defined(op, dtype) for value in values[::3]]
    same_as_interpreter(everywhere([a], ops, len(values), kind), [values])


@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.VECTORIZED])
@pytest.mark.parametrize("dtype", ARRAY_TYPES, ids=str)
def test_unary(dtype: DType, kind: LoopKind) -> None:
    values = edges(dtype)
    a = Buffer("A", values.shape, dtype)
    ops: list[Callable[[Expr], Expr]] = [lambda i: Load(a, (i,))]
    for op in set(UnaryOp) - LIBRARY:
        try:
            unary(op, Var("x", dtype))
        except IRError:
            continue
        ops.append(lambda i, op=op: unary(op, Load(a, (i,))))  # type: ignore[misc]
    same_as_interpreter(everywhere([a], ops, len(values), kind), [values])


@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.VECTORIZED])
@pytest.mark.parametrize("dtype", ARRAY_TYPES, ids=str)
def test_cast(dtype: DType, kind: LoopKind) -> None:
    """To every type, those of odd widths on the way."""
    values = edges(dtype)
    a = Buffer("A", values.shape, dtype)

    def through(other: DType) -> Callable[[Expr], Expr]:
        back = DType(Kind.INT, 64) if other.is_integer else other
        return lambda i: Cast(Cast(Load(a, (i,)), other), back)

    ops = [through(each) for each in TYPES]
    same_as_interpreter(everywhere([a], ops, len(values), kind), [values])


@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.VECTORIZED])
@pytest.mark.parametrize("dtype", sorted(set(TYPES) - set(ARRAY_TYPES), key=str), ids=str)
def test_odd_widths(dtype: DType, kind: LoopKind) -> None:
    wide = DType(Kind.INT, 64)
    numbers = range(dtype.low, dtype.high + 1)
    pairs = list(product(numbers, repeat=2))
    left, right = (np.array(each, wide.numpy) for each in zip(*pairs, strict=True))
    a, b = (Buffer(name, left.shape, wide) for name in "AB")

    def apply(op: BinaryOp) -> Callable[[Expr], Expr]:
        def value(i: Expr) -> Expr:
            narrow = Binary(op, Cast(Load(a, (i,)), dtype), Cast(Load(b, (i,)), dtype))
            return narrow if op.compares else Cast(narrow, wide)

        return value

    ops = [apply(op) for op in BinaryOp if defined(op, dtype)]
    same_as_interpreter(everywhere([a, b], ops, len(left), kind), [left, right])


def test_fused_products_are_the_same_in_every_schedule() -> None:
    """`x + a * b` is rounded once, in one lane or many, on whatever side the product stands."""
    rng = np.random.default_rng(5)
    arrays = [rng.normal(size=100).astype(np.float32) for _ in range(3)]
    x, a, b = (Buffer(name, (100,), DType(Kind.FLOAT, 32)) for name in "XAB")
    results: list[NDArray[Any]] = []
    for kind in (LoopKind.SERIAL, LoopKind.VECTORIZED, LoopKind.UNROLLED):
        function = everywhere(
            [x, a, b],
            [
                lambda i: Load(x, (i,)) + Load(a, (i,)) * Load(b, (i,)),
                lambda i: Load(a, (i,)) * Load(b, (i,)) + Load(x, (i,)),
            ],
            100,
            kind,
        )
        results += compile_function(function, HOST)(*arrays)
    if "fma" in HOST.features:
        wide = [each.astype(np.float64) for each in arrays]
        once = (wide[0] + wide[1] * wide[2]).astype(np.float32)
        assert np.mean(once == results[0]) > 0.99
    for result in results[1:]:
        same(result, results[0])


@pytest.mark.parametrize("op", [BinaryOp.FLOORDIV, BinaryOp.MOD])
def test_a_divisor_that_wraps(op: BinaryOp) -> None:
    """The largest integer and one more, which seems to be positive."""
    largest = Cast(Const(float("inf"), FLOAT32), INT64)
    divisor = binary(BinaryOp.ADD, Const(1, INT64), largest)
    output = Buffer("O", (), INT64)
    body = Store(output, (), binary(op, Const(1, INT64), divisor))
    (found,) = same_as_interpreter(PrimFunc("f", (), (output,), body), [])
    assert found == (-1 if op is BinaryOp.FLOORDIV else 1 + INT64.low)


@pytest.mark.parametrize("limits", [(0, 255), (-128, 127), (-3, 5), (0, 65535), (7, 7)])
def test_clamped_floats_as_integers(limits: tuple[int, int]) -> None:
    """`min(max(x, low), high)` in a narrow integer type, with NaN and infinities."""
    low, high = limits
    for dtype in ("uint8", "int8", "uint16", "int16", "int32"):
        for given in ("float32", "float64"):
            values = edges(FLOAT32 if given == "float32" else FLOAT64)
            text = f"""
func f(A: {given}[{len(values)}]) -> (C: {dtype}[{len(values)}], D: {dtype}[{len(values)}]):
  for i in {len(values)} vectorized:
    C[i] = {dtype}(min(max(A[i], {low}.0), {high}.0))
  for j in {len(values)}:
    D[j] = {dtype}(min(max(A[j], {low}.0), {high}.0))
"""
            for target in (EXACT, HOST):
                run_text(text, values, target=target)
