"""Prints programs as text (the grammar is in `compiler.ir`), which `parser` reads back.

A constant is a plain number if its type follows from the context (a stored value, an index, an
extent, an argument) or from the other operand, or if it is an index whose type nothing else
determines. Otherwise it is written with its type: `int8(3)`, `float32(inf)`. A cast of a constant
always has both types: `int8(float32(3.5))`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import assert_never

import numpy as np

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INDEX, DType
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Reinterpret,
    Select,
    Unary,
    Var,
)
from tandem.compiler.ir.operations import (
    UnaryOp,
)
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    BlockIter,
    For,
    If,
    Invoke,
    LoopKind,
    PrimFunc,
    Region,
    Seq,
    Stmt,
    Store,
)
from tandem.compiler.ir.syntax import BITS, PRECEDENCE, PREFIX_OPERATORS, PREFIX_PRECEDENCE
from tandem.compiler.ir.visit import sequence

_INDENT = "  "


def text(node: PrimFunc | Stmt | Expr) -> str:
    """Return the text of a node; that of a program or a statement ends with a newline."""
    match node:
        case PrimFunc():
            return _lines(_function(node))
        case Store() | Seq() | For() | If() | Alloc() | Block() | Invoke():
            return _lines(_stmt(node))
        case _:
            return _expr(node, None)


def _lines(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _indented(stmt: Stmt) -> Iterator[str]:
    return (_INDENT + line for line in _stmt(stmt))


def _function(function: PrimFunc) -> Iterator[str]:
    inputs, outputs = (
        ", ".join(declaration(each) for each in buffers)
        for buffers in (function.inputs, function.outputs)
    )
    yield f"func {function.name}({inputs}) -> ({outputs}):"
    yield from _indented(function.body)


def declaration(buffer: Buffer) -> str:
    """Return the text of a buffer's declaration."""
    scope = "" if buffer.scope == Scope.GLOBAL else f" @ {buffer.scope.value}"
    slots = "" if buffer.slots == 1 else f" in {buffer.slots} slots"
    return f"{buffer.name}: {buffer.dtype}[{', '.join(map(str, buffer.shape))}]{scope}{slots}"


def _stmt(stmt: Stmt) -> Iterator[str]:
    match stmt:
        case Store(buffer=buffer, indices=indices, value=value):
            yield f"{buffer.name}[{_indices(indices)}] = {_expr(value, buffer.dtype)}"
        case Seq():
            yield from _sequence(stmt)
        case For(var=var, extent=extent, kind=kind, body=body):
            ending = "" if kind is LoopKind.SERIAL else f" {kind.value}"
            yield f"for {var.name} in {_expr(extent, INDEX)}{ending}:"
            yield from _indented(body)
        case If(condition=condition, body=body):
            yield f"if {_expr(condition, BOOL)}:"
            yield from _indented(body)
        case Alloc(buffer=buffer, body=body):
            yield f"alloc {declaration(buffer)}"
            yield from _stmt(body)
        case Block():
            yield from _block(stmt)
        case Invoke(intrinsic=intrinsic, operands=regions):
            yield f"invoke {intrinsic.name}({', '.join(_region(each) for each in regions)})"
        case _:
            assert_never(stmt)


def _sequence(stmt: Seq) -> Iterator[str]:
    flat = sequence(*stmt.body)
    parts = flat.body if isinstance(flat, Seq) else (flat,)
    if not parts:
        yield "pass"
    for part in parts:
        yield from _stmt(part)


def _block(block: Block) -> Iterator[str]:
    yield f"block {block.name}({', '.join(_iter(axis) for axis in block.iters)}):"
    if block.guard:
        yield f"{_INDENT}where {', '.join(_expr(each, BOOL) for each in block.guard)}"
    if block.init is not None:
        yield f"{_INDENT}init:"
        yield from (_INDENT + line for line in _indented(block.init))
    yield from _indented(block.body)


def _iter(axis: BlockIter) -> str:
    return f"{axis.kind.value} {axis.var.name} < {axis.extent} = {_expr(axis.value, INDEX)}"


def _region(region: Region) -> str:
    axes = (
        f"{_expr(lower, INDEX)} :+ {extent}"
        for lower, extent in zip(region.lower, region.shape, strict=True)
    )
    return f"{region.buffer.name}[{', '.join(axes)}]"


def _indices(indices: Sequence[Expr]) -> str:
    return ", ".join(_expr(each, INDEX) for each in indices)


def _expr(expr: Expr, expected: DType | None, level: int = 0) -> str:
    """Return the text of an expression whose context determines the type `expected`, or no type
    (None); in parentheses if its precedence is below `level`."""
    match expr:
        case Const():
            return _constant(expr, expected)
        case Var(name=name):
            return name
        case Load(buffer=buffer, indices=indices):
            return f"{buffer.name}[{_indices(indices)}]"
        case Unary(op=op, operand=operand) if op.value in PREFIX_OPERATORS:
            inner = _expr(operand, expected or _own_dtype(operand), PREFIX_PRECEDENCE)
            # `-3` is a constant, and `-(3)` is not.
            apart = op is UnaryOp.NEG and isinstance(operand, Const) and inner[0].isalnum()
            return f"{op.value}({inner})" if apart else f"{op.value}{inner}"
        case Unary(op=op, operand=operand):
            return f"{op.value}({_expr(operand, expected or _own_dtype(operand))})"
        case Cast(operand=Const() as operand, dtype=dtype) if operand.dtype != BOOL:
            # `int8(3)` is a constant, and `int8(int64(3))` is not.
            return f"{dtype}({operand.dtype}({_number(operand)}))"
        case Cast(operand=operand, dtype=dtype):
            return f"{dtype}({_expr(operand, _own_dtype(operand))})"
        case Reinterpret(operand=operand, dtype=dtype):
            # Without a type of its own, a constant is written with its type.
            return f"{BITS}{dtype}({_expr(operand, _own_dtype(operand))})"
        case Binary():
            return _binary(expr, expected, level)
        case Select(condition=condition, then=then, otherwise=otherwise):
            expected = expected or _own_dtype(then) or _own_dtype(otherwise)
            parts = (_expr(condition, BOOL), _expr(then, expected), _expr(otherwise, expected))
            return f"select({', '.join(parts)})"
        case _:
            assert_never(expr)


def _binary(expr: Binary, expected: DType | None, level: int) -> str:
    op, left, right = expr.op, expr.left, expr.right
    expected = (None if op.compares else expected) or _own_dtype(left) or _own_dtype(right)
    if op not in PRECEDENCE:
        return f"{op.value}({_expr(left, expected)}, {_expr(right, expected)})"
    own = PRECEDENCE[op]
    first = _expr(left, expected, own + op.compares)
    result = f"{first} {op.value} {_expr(right, expected, own + 1)}"
    return f"({result})" if own < level else result


def _own_dtype(expr: Expr) -> DType | None:
    """The type of an expression that its own text determines; None if it determines none."""
    match expr:
        case Const(dtype=dtype):
            return dtype if dtype == BOOL else None
        case Var() | Load() | Cast() | Reinterpret():
            return expr.dtype
        case Unary(operand=operand):
            return _own_dtype(operand)
        case Binary(op=op, left=left, right=right):
            return BOOL if op.compares else _own_dtype(left) or _own_dtype(right)
        case Select(then=then, otherwise=otherwise):
            return _own_dtype(then) or _own_dtype(otherwise)
        case _:
            assert_never(expr)


def _constant(const: Const, expected: DType | None) -> str:
    bare = const.dtype == BOOL or const.dtype == (expected or INDEX)
    return _number(const) if bare else f"{const.dtype}({_number(const)})"


def _number(const: Const) -> str:
    if const.dtype == BOOL:
        return str(bool(const.value))
    if not const.dtype.is_float:
        return str(int(const.value))
    value = float(const.value)
    if const.dtype == FLOAT32 and math.isfinite(value):
        # The shortest text that is unique among float32, not among float64.
        short = str(np.float32(value))
        if float(np.float32(float(short))) == value:
            return short
    return repr(value)
