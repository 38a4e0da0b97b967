"""Hypothesis strategies for small legal expressions and programs of the loop language.

Programs run without an error: indices stay within buffers, elements are written before they are
read, and outputs are complete.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.errors import IRError
from tandem.compiler.ir import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INDEX,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    Alloc,
    BinaryOp,
    Block,
    BlockIter,
    Buffer,
    Cast,
    Const,
    DType,
    Expr,
    For,
    If,
    Invoke,
    IterKind,
    Kind,
    Load,
    LoopKind,
    PrimFunc,
    Region,
    Scope,
    Select,
    Stmt,
    Store,
    Unary,
    UnaryOp,
    Var,
)
from tandem.compiler.ir.expr import binary, constant, unary
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.visit import sequence

ARRAY_TYPES = (
    *(BOOL, FLOAT32, FLOAT64),
    *(INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64),
)
"""Data types that NumPy supports."""
TYPES = (*ARRAY_TYPES, DType(Kind.INT, 1), DType(Kind.INT, 5), DType(Kind.UINT, 3))

_CPU_KINDS = tuple(kind for kind in LoopKind if kind is not LoopKind.VIRTUAL_THREAD)
_CPU_SCOPES = (Scope.GLOBAL, Scope.LOCAL)
_SERIAL = LoopKind.SERIAL
_EXACT = (UnaryOp.NEG, UnaryOp.NOT, UnaryOp.ABS, UnaryOp.SQRT)
"""Operations whose result IEEE 754 defines exactly, as for `_ROUNDING`."""
_ROUNDING = (UnaryOp.FLOOR, UnaryOp.CEIL, UnaryOp.ROUND)


def _binary_ops(dtype: DType) -> Iterator[BinaryOp]:
    """The operations that support operands of the type and return that type."""
    for op in BinaryOp:
        if not op.compares:
            try:
                binary(op, Var("x", dtype), Var("x", dtype))
            except IRError:
                continue
            yield op


def _unary_ops(dtype: DType) -> Iterator[UnaryOp]:
    for op in UnaryOp:
        try:
            unary(op, Var("x", dtype))
        except IRError:
            continue
        yield op


_BINARY = {dtype: tuple(_binary_ops(dtype)) for dtype in TYPES}
_UNARY = {dtype: tuple(_unary_ops(dtype)) for dtype in TYPES}
_COMPARISONS = tuple(op for op in BinaryOp if op.compares)


def constants(dtype: DType) -> st.SearchStrategy[Const]:
    """Any constant of a type; often a small constant."""
    match dtype.kind:
        case Kind.BOOL:
            values: st.SearchStrategy[Any] = st.booleans()
        case Kind.FLOAT:
            special = st.sampled_from([0.0, -0.0, 1.0, 0.1, math.inf, -math.inf, math.nan])
            values = special | st.floats(width=32 if dtype == FLOAT32 else 64)
        case Kind.INT | Kind.UINT:
            small = st.integers(max(dtype.low, -4), min(dtype.high, 9))
            values = small | st.integers(dtype.low, dtype.high)
    return values.map(lambda value: constant(value, dtype))


@st.composite
def index_expressions(draw: st.DrawFn, variables: Sequence[str], depth: int = 3) -> Expr:
    """Arithmetic of variables and small numbers, as schedules make it: `(i * 4 + j) // 3 % 5`."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        if variables and draw(st.integers(0, 2)) > 0:
            return Var(draw(st.sampled_from(variables)))
        return index(draw(st.integers(-6, 12)))
    left = draw(index_expressions(variables, depth - 1))
    op = draw(
        st.sampled_from(
            (
                *(BinaryOp.ADD, BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL),
                *(BinaryOp.FLOORDIV, BinaryOp.MOD, BinaryOp.MIN, BinaryOp.MAX),
            )
        )
    )
    if op in (BinaryOp.MUL, BinaryOp.FLOORDIV, BinaryOp.MOD):
        return binary(op, left, index(draw(st.integers(-4, 8))))
    return binary(op, left, draw(index_expressions(variables, depth - 1)))


@dataclass(frozen=True)
class _Scope:
    """The names that an expression may use: variables with their extents, and buffers."""

    variables: Mapping[str, int]
    buffers: Sequence[Buffer]
    exact: bool
    kinds: Sequence[LoopKind] = _CPU_KINDS


def expressions(
    dtype: DType,
    variables: Mapping[str, int] | None = None,
    buffers: Sequence[Buffer] = (),
    *,
    depth: int = 3,
    exact: bool = False,
) -> st.SearchStrategy[Expr]:
    """Any expression of a type.

    Parameters
    ----------
    variables
        Those in scope, with their extents: indices that are a variable alone fit.
    buffers
        Buffers in scope. Indices stay within bounds for all values of the variables.
    depth
        Maximum nesting of operators.
    exact
        Without functions of floats whose last bit depends on the library (`exp`, `pow`, ...).
    """
    return _expressions(dtype, _Scope(variables or {}, buffers, exact), depth)


@st.composite
def _expressions(draw: st.DrawFn, dtype: DType, scope: _Scope, depth: int) -> Expr:
    if depth <= 0 or draw(st.integers(0, 4)) == 0:
        return draw(_leaves(dtype, scope))

    def below(other: DType) -> Expr:
        return draw(_expressions(other, scope, depth - 1))

    forms = ["binary", "binary", "unary", "cast", "select"]
    match draw(st.sampled_from(forms)):
        case "unary" if ops := _allowed(_UNARY[dtype], scope):
            return Unary(draw(st.sampled_from(ops)), below(dtype))
        case "cast":
            return Cast(below(draw(st.sampled_from(TYPES))), dtype)
        case "select":
            return Select(below(BOOL), below(dtype), below(dtype))
        case _ if dtype == BOOL and draw(st.booleans()):
            other = draw(st.sampled_from(TYPES))
            return binary(draw(st.sampled_from(_COMPARISONS)), below(other), below(other))
        case _:
            both = tuple(op for op in _BINARY[dtype] if not (scope.exact and op is BinaryOp.POW))
            return binary(draw(st.sampled_from(both)), below(dtype), below(dtype))


def _allowed(ops: Sequence[UnaryOp], scope: _Scope) -> Sequence[UnaryOp]:
    return [op for op in ops if not scope.exact or op in _EXACT or op in _ROUNDING]


@st.composite
def _leaves(draw: st.DrawFn, dtype: DType, scope: _Scope) -> Expr:
    readable = [each for each in scope.buffers if each.dtype == dtype and each.size]
    if readable and draw(st.integers(0, 3)) > 0:
        return draw(_loads(draw(st.sampled_from(readable)), scope))
    if dtype == INDEX and scope.variables and draw(st.booleans()):
        return Var(draw(st.sampled_from(sorted(scope.variables))))
    return draw(constants(dtype))


@st.composite
def _loads(draw: st.DrawFn, buffer: Buffer, scope: _Scope) -> Load:
    return Load(buffer, tuple(draw(_indices(extent, scope)) for extent in buffer.shape))


@st.composite
def _indices(draw: st.DrawFn, extent: int, scope: _Scope) -> Expr:
    fitting = sorted(name for name, values in scope.variables.items() if values <= extent)
    if fitting and draw(st.integers(0, 2)) > 0:
        return Var(draw(st.sampled_from(fitting)))
    if draw(st.booleans()):
        return index(draw(st.integers(0, extent - 1)))
    # Floor modulo lies in 0..extent-1, whatever its operand.
    return draw(index_expressions(sorted(scope.variables), 2)) % extent


_COPY = """
func copy4(x: float32[4]) -> (y: float32[4]):
  for i in 4:
    y[i] = x[i]
"""
_MATVEC = """
func matvec(p: int8[2, 3], q: int8[3], r: int32[1, 2]) -> (r: int32[1, 2]):
  for i in 2:
    for j in 3:
      r[0, i] = r[0, i] + int32(p[i, j]) * int32(q[j])
"""
INTRINSICS = {each.name: each for each in (parse(_COPY), parse(_MATVEC))}
"""Tensor intrinsics that `functions` invokes: `copy4(x, y)`, `matvec(p, q, r)`, which adds to r."""

_CALLS = {
    "copy4": Buffer("V", (4,), FLOAT32),
    "matvec": Buffer("M", (3, 1, 3), INT8),
}
"""The buffer that an invoking stage reads."""


@st.composite
def functions(
    draw: st.DrawFn,
    *,
    stages: int = 3,
    exact: bool = False,
    invokes: bool = True,
    accelerator: bool = False,
) -> PrimFunc:
    """A program of one to `stages` stages, each of which may read the inputs and earlier stages.

    A stage is a block in a loop nest (loops split, reordered, of any kind, with guards; reductions
    with `init`), plain loops (with conditions, and extents that depend on other loops), or
    intrinsics in a loop. Extents are 1 to 4, buffers have up to two dimensions.

    Parameters
    ----------
    exact
        See `expressions`.
    invokes
        Allow `Invoke`, of `INTRINSICS`.
    accelerator
        Allow virtual threads, and allocations in every scope.
    """
    kinds = tuple(LoopKind) if accelerator else _CPU_KINDS
    scopes = (*_CPU_SCOPES, Scope("near"), Scope("far")) if accelerator else _CPU_SCOPES
    inputs = [draw(_buffers(f"I{number}")) for number in range(draw(st.integers(0, 2)))]
    outputs: list[Buffer] = []
    wide: list[Buffer] = []
    units: list[tuple[Stmt, Buffer | None]] = []
    before: Buffer | None = None
    count = draw(st.integers(1, stages))
    for number in range(count):
        kept = "output" if number == count - 1 else draw(st.sampled_from(_KEPT))
        scope = Scope.GLOBAL if kept == "output" else draw(st.sampled_from(scopes))
        buffer = replace(draw(_buffers(f"S{number}")), scope=scope)
        readable = [*inputs, *outputs, *wide, *([before] if before else [])]
        before = None
        call = draw(st.sampled_from(sorted(_CALLS))) if invokes and draw(st.booleans()) else ""
        if call and draw(st.booleans()):
            source = _CALLS[call]
            inputs += [] if source in inputs else [source]
            buffer, body = _calls(buffer.name, source, call)
        else:
            body = draw(_stages(buffer, _Scope({}, readable, exact, kinds)))
        if kept == "output":
            outputs.append(buffer)
        elif kept == "wide":
            wide.append(buffer)
        else:
            before = buffer
        units.append((body, before))
    return PrimFunc("f", tuple(inputs), tuple(outputs), _assemble(units, wide))


_KEPT = ("output", "wide", "narrow")
"""The lifetime of a stage's buffer: output, whole program, or the next stage only."""


def _assemble(units: Sequence[tuple[Stmt, Buffer | None]], wide: Sequence[Buffer]) -> Stmt:
    parts: list[Stmt] = []
    for body, narrow in reversed(units):
        if narrow is None:
            parts.insert(0, body)
        else:
            parts[0] = Alloc(narrow, sequence(body, parts[0]))
    whole = sequence(*parts)
    for buffer in wide:
        whole = Alloc(buffer, whole)
    return whole


@st.composite
def _buffers(draw: st.DrawFn, name: str) -> Buffer:
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=2)))
    return Buffer(name, shape, draw(st.sampled_from(ARRAY_TYPES)))


def _calls(name: str, source: Buffer, intrinsic: str) -> tuple[Buffer, Stmt]:
    """A stage that invokes an intrinsic in a loop, and the stage's buffer."""
    iteration = Var(f"{name}.i")
    if intrinsic == "copy4":
        buffer = Buffer(name, (3, 4), FLOAT32)
        regions = (
            Region(source, (index(0),), (4,)),
            Region(buffer, (iteration, index(0)), (1, 4)),
        )
        call = Invoke(INTRINSICS[intrinsic], regions)
        return buffer, For(iteration, index(3), LoopKind.PARALLEL, call)
    buffer = Buffer(name, (1, 2, 1, 2), INT32)
    row, column = Var(f"{name}.r"), Var(f"{name}.c")
    clear: Stmt = Store(buffer, (index(0), row, index(0), column), constant(0, INT32))
    for var in (column, row):
        clear = For(var, index(2), LoopKind.SERIAL, clear)
    operands = (
        Region(source, (iteration, index(0), index(0)), (2, 1, 3)),
        Region(source, (iteration * 2, index(0), index(0)), (1, 1, 3)),
        Region(buffer, (index(0), iteration, index(0), index(0)), (1, 1, 1, 2)),
    )
    call = Invoke(INTRINSICS[intrinsic], operands)
    return buffer, sequence(clear, For(iteration, index(2), LoopKind.UNROLLED, call))


def _stages(buffer: Buffer, scope: _Scope) -> st.SearchStrategy[Stmt]:
    return _block_stages(buffer, scope) | _plain_stages(buffer, scope)


_COMBINERS = (BinaryOp.ADD, BinaryOp.MAX, BinaryOp.XOR)


@st.composite
def _block_stages(draw: st.DrawFn, buffer: Buffer, scope: _Scope) -> Stmt:
    kinds = [IterKind.SPATIAL] * len(buffer.shape)
    extents = list(buffer.shape)
    combiners = [op for op in _COMBINERS if op in _BINARY[buffer.dtype]]
    reduces = bool(combiners) and draw(st.booleans())
    for _ in range(draw(st.integers(1, 2)) if reduces else 0):
        kinds.append(IterKind.REDUCE)
        extents.append(draw(st.integers(1, 3)))
    axes = [Var(name) for name in "ij"[: len(buffer.shape)] + "rs"[: kinds.count(IterKind.REDUCE)]]
    bound = [
        draw(_loops(f"{buffer.name}.{axis.name}", extent))
        for axis, extent in zip(axes, extents, strict=True)
    ]
    guard = tuple(
        value < extent
        for (loops, value), extent in zip(bound, extents, strict=True)
        if math.prod(count for _, count in loops) > extent or draw(st.integers(0, 5)) == 0
    )
    iters = tuple(
        BlockIter(axis, extent, kind, value)
        for axis, extent, kind, (_, value) in zip(axes, extents, kinds, bound, strict=True)
    )
    inside = replace(scope, variables={each.var.name: each.extent for each in iters})
    where = tuple(axes[: len(buffer.shape)])
    value = draw(_expressions(buffer.dtype, inside, 3))
    init = None
    if reduces:
        spatial = {axis.name: n for axis, n in zip(where, buffer.shape, strict=True)}
        start = replace(inside, variables=spatial)
        init = Store(buffer, where, draw(_expressions(buffer.dtype, start, 1)))
        value = binary(draw(st.sampled_from(combiners)), Load(buffer, where), value)
    body: Stmt = Block(buffer.name, iters, guard, init, Store(buffer, where, value))
    nest = [
        (var, count, draw(st.sampled_from(scope.kinds)) if kind is IterKind.SPATIAL else _SERIAL)
        for (loops, _), kind in zip(bound, kinds, strict=True)
        for var, count in loops
    ]
    return _nest(draw(st.permutations(nest)), body)


@st.composite
def _loops(draw: st.DrawFn, name: str, extent: int) -> tuple[list[tuple[Var, int]], Expr]:
    """Loops that cover an axis, possibly with extra iterations, and the axis's index expression."""
    if draw(st.booleans()):
        return [(Var(name), extent)], Var(name)
    factor = draw(st.integers(1, 3))
    outer, inner = Var(f"{name}_o"), Var(f"{name}_i")
    return [(outer, -(-extent // factor)), (inner, factor)], outer * factor + inner


def _nest(loops: Sequence[tuple[Var, int, LoopKind]], body: Stmt) -> Stmt:
    """Loops around a body, the first outermost; no parallel loop inside a vectorized one."""
    lanes = [kind is LoopKind.VECTORIZED for _, _, kind in loops]
    for number, (var, count, kind) in reversed(list(enumerate(loops))):
        forbidden = kind is LoopKind.PARALLEL and any(lanes[:number])
        body = For(var, index(count), _SERIAL if forbidden else kind, body)
    return body


@st.composite
def _plain_stages(draw: st.DrawFn, buffer: Buffer, scope: _Scope) -> Stmt:
    variables = [Var(f"{buffer.name}.{name}") for name in "ij"[: len(buffer.shape)]]
    inside = replace(
        scope, variables={var.name: n for var, n in zip(variables, buffer.shape, strict=True)}
    )
    stores: list[Stmt] = [
        Store(buffer, tuple(variables), draw(_expressions(buffer.dtype, inside, 3)))
    ]
    if draw(st.booleans()):
        # The statement reads only its own element, so that iterations stay independent.
        own = Load(buffer, tuple(variables))
        value = Select(
            draw(_expressions(BOOL, inside, 1)), own, draw(_expressions(buffer.dtype, inside, 2))
        )
        condition = draw(_expressions(BOOL, inside, 2))
        stores.append(If(condition, Store(buffer, tuple(variables), value)))
    nest = [
        (var, extent, draw(st.sampled_from(scope.kinds)))
        for var, extent in zip(variables, buffer.shape, strict=True)
    ]
    first = _nest(draw(st.permutations(nest)), sequence(*stores))
    if not draw(st.booleans()):
        return first
    return sequence(first, draw(_updates(buffer, scope)))


@st.composite
def _updates(draw: st.DrawFn, buffer: Buffer, scope: _Scope) -> Stmt:
    """Serial loops that read and write a complete buffer; the inner loop's extent is an expression
    of the outer loop's variable."""
    outer, inner = Var(f"{buffer.name}.u"), Var(f"{buffer.name}.v")
    extent = draw(st.sampled_from([outer + 1, 3 - outer, index(2)]))
    inside = _Scope({outer.name: 3, inner.name: 3}, [*scope.buffers, buffer], scope.exact)
    where = tuple(draw(_indices(n, inside)) for n in buffer.shape)
    body = Store(buffer, where, draw(_expressions(buffer.dtype, inside, 2)))
    return For(outer, index(3), _SERIAL, For(inner, extent, _SERIAL, body))


@st.composite
def arrays(draw: st.DrawFn, function: PrimFunc) -> list[NDArray[Any]]:
    """An array for each input of a function: any values, zeros, and the limits of the types."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return [np.asarray(_array(random, each), each.dtype.numpy) for each in function.inputs]


def _array(random: np.random.Generator, buffer: Buffer) -> Any:
    dtype = buffer.dtype
    if dtype.is_integer:
        whole = random.integers(dtype.low, dtype.high, buffer.shape, dtype.numpy, endpoint=True)
        ends = random.choice(np.array([0, dtype.low, dtype.high], dtype.numpy), buffer.shape)
        small = random.integers(0, 7, buffer.shape, dtype.numpy)
        return np.choose(random.integers(0, 3, buffer.shape), [whole, ends, small])
    if dtype.is_float:
        values = random.normal(0, 3, buffer.shape)
        ends = random.choice([0.0, -0.0, 0.5, np.inf, -np.inf, np.nan], buffer.shape)
        return np.where(random.random(buffer.shape) < 0.7, values, ends)
    return random.integers(0, 2, buffer.shape)
