"""Programs as text (the grammar is in `compiler.ir`). `parser` reads it back.

A constant is a plain number where its type follows from the place (what is stored, an index, an
extent, an argument) or from what it is combined with; a plain integer of which nothing tells the
type is an index. Elsewhere its type stands around it: `int8(3)`, `float32(inf)`. A cast of a
constant always says both types: `int8(float32(3.5))`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import assert_never

import numpy as np

from compiler.ir.buffer import Buffer, Scope
from compiler.ir.dtypes import BOOL, FLOAT32, INDEX, DType
from compiler.ir.expr import Binary, Cast, Const, Expr, Load, Select, Unary, UnaryOp, Var
from compiler.ir.stmt import (
    Alloc,
    Block,
    BlockIter,
    For,
    Function,
    If,
    Invoke,
    LoopKind,
    Region,
    Seq,
    Stmt,
    Store,
)
from compiler.ir.syntax import LEVELS, PREFIX_LEVEL, PREFIX_OPERATORS
from compiler.ir.visit import sequence

__all__ = ["declaration", "text"]

_INDENT = "  "


def text(node: Function | Stmt | Expr) -> str:
    """A program, a statement or an expression. Programs and statements end with a line's end."""
    match node:
        case Function():
            return _lines(_function(node))
        case Store() | Seq() | For() | If() | Alloc() | Block() | Invoke():
            return _lines(_stmt(node))
        case _:
            return _expr(node, None)


def _lines(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _indented(stmt: Stmt) -> Iterator[str]:
    return (_INDENT + line for line in _stmt(stmt))


def _function(function: Function) -> Iterator[str]:
    inputs, outputs = (
        ", ".join(declaration(each) for each in buffers)
        for buffers in (function.inputs, function.outputs)
    )
    yield f"func {function.name}({inputs}) -> ({outputs}):"
    yield from _indented(function.body)


def declaration(buffer: Buffer) -> str:
    """A buffer as it is declared."""
    scope = "" if buffer.scope == Scope.GLOBAL else f" @ {buffer.scope.value}"
    return f"{buffer.name}: {buffer.dtype}[{', '.join(map(str, buffer.shape))}]{scope}"


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


def _expr(expr: Expr, told: DType | None, level: int = 0) -> str:
    """An expression at a place that tells its type, or tells nothing (None); in parentheses if it
    binds less tightly than `level`."""
    match expr:
        case Const():
            return _constant(expr, told)
        case Var(name=name):
            return name
        case Load(buffer=buffer, indices=indices):
            return f"{buffer.name}[{_indices(indices)}]"
        case Unary(op=op, operand=operand) if op.value in PREFIX_OPERATORS:
            inner = _expr(operand, told or _tells(operand), PREFIX_LEVEL)
            # `-3` is a constant, and `-(3)` is not.
            apart = op is UnaryOp.NEG and isinstance(operand, Const) and inner[0].isalnum()
            return f"{op.value}({inner})" if apart else f"{op.value}{inner}"
        case Unary(op=op, operand=operand):
            return f"{op.value}({_expr(operand, told or _tells(operand))})"
        case Cast(operand=Const() as operand, dtype=dtype) if operand.dtype != BOOL:
            # `int8(3)` is a constant, and `int8(int64(3))` is not.
            return f"{dtype}({operand.dtype}({_number(operand)}))"
        case Cast(operand=operand, dtype=dtype):
            return f"{dtype}({_expr(operand, _tells(operand))})"
        case Binary():
            return _binary(expr, told, level)
        case Select(condition=condition, then=then, otherwise=otherwise):
            told = told or _tells(then) or _tells(otherwise)
            parts = (_expr(condition, BOOL), _expr(then, told), _expr(otherwise, told))
            return f"select({', '.join(parts)})"
        case _:
            assert_never(expr)


def _binary(expr: Binary, told: DType | None, level: int) -> str:
    op, left, right = expr.op, expr.left, expr.right
    told = (None if op.compares else told) or _tells(left) or _tells(right)
    if op not in LEVELS:
        return f"{op.value}({_expr(left, told)}, {_expr(right, told)})"
    own = LEVELS[op]
    first = _expr(left, told, own + op.compares)
    result = f"{first} {op.value} {_expr(right, told, own + 1)}"
    return f"({result})" if own < level else result


def _tells(expr: Expr) -> DType | None:
    """The type of an expression, if its text tells it without help."""
    match expr:
        case Const(dtype=dtype):
            return dtype if dtype == BOOL else None
        case Var() | Load() | Cast():
            return expr.dtype
        case Unary(operand=operand):
            return _tells(operand)
        case Binary(op=op, left=left, right=right):
            return BOOL if op.compares else _tells(left) or _tells(right)
        case Select(then=then, otherwise=otherwise):
            return _tells(then) or _tells(otherwise)
        case _:
            assert_never(expr)


def _constant(const: Const, told: DType | None) -> str:
    bare = const.dtype == BOOL or const.dtype == (told or INDEX)
    return _number(const) if bare else f"{const.dtype}({_number(const)})"


def _number(const: Const) -> str:
    if const.dtype == BOOL:
        return str(bool(const.value))
    if not const.dtype.is_float:
        return str(int(const.value))
    value = float(const.value)
    if const.dtype == FLOAT32 and math.isfinite(value):
        # As few digits as tell it from other float32, not from other float64.
        short = str(np.float32(value))
        if float(np.float32(float(short))) == value:
            return short
    return repr(value)
