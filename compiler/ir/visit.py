"""Traversals of expressions and statements. For a new node, mypy finds all traversals to extend."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias, TypeVar, assert_never

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Binary, Cast, Const, Expr, Load, Reinterpret, Select, Unary, Var
from tandem.compiler.ir.facts import expr_facts, facts
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    For,
    If,
    Invoke,
    PrimFunc,
    Region,
    Seq,
    Stmt,
    Store,
)

_T = TypeVar("_T")
_Access: TypeAlias = Callable[[Buffer, tuple[Expr, ...]], tuple[Buffer, tuple[Expr, ...]]]


def operands(expr: Expr) -> tuple[Expr, ...]:
    """The operands of an expression."""
    match expr:
        case Const() | Var():
            return ()
        case Load(indices=indices):
            return indices
        case Unary(operand=operand) | Cast(operand=operand) | Reinterpret(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Select():
            return (expr.condition, expr.then, expr.otherwise)
        case _:
            assert_never(expr)


def map_operands(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return the node with changed operands; the same object if none changed."""
    match expr:
        case Const() | Var():
            return expr
        case Load(buffer=buffer, indices=indices):
            changed = _all(indices, change)
            return expr if changed is indices else Load(buffer, changed)
        case Unary(op=op, operand=operand):
            inner = change(operand)
            return expr if inner is operand else Unary(op, inner)
        case Cast(operand=operand, dtype=dtype):
            inner = change(operand)
            return expr if inner is operand else Cast(inner, dtype)
        case Reinterpret(operand=operand, dtype=dtype):
            inner = change(operand)
            return expr if inner is operand else Reinterpret(inner, dtype)
        case Binary(op=operation, left=left, right=right):
            a, b = change(left), change(right)
            return expr if a is left and b is right else Binary(operation, a, b)
        case Select():
            old = operands(expr)
            new = _all(old, change)
            return expr if new is old else Select(*new)
        case _:
            assert_never(expr)


def _all(old: tuple[_T, ...], change: Callable[[_T], _T]) -> tuple[_T, ...]:
    """Return the changed elements; the same tuple if none changed."""
    new = [change(each) for each in old]
    for before, after in zip(old, new, strict=True):
        if before is not after:
            return tuple(new)
    return old


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """An expression and all its subexpressions, in pre-order."""
    return _preorder(expr, operands)


def _preorder(root: _T, below: Callable[[_T], tuple[_T, ...]]) -> Iterator[_T]:
    left = [root]
    while left:
        node = left.pop()
        yield node
        left += below(node)[::-1]


def rewrite_expr(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return an expression with `change` applied to every node, in post-order."""
    return change(map_operands(expr, lambda inner: rewrite_expr(inner, change)))


def variables(expr: Expr) -> frozenset[str]:
    """The names of the variables in an expression."""
    return expr_facts(expr).variables


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Return an expression with variables replaced, by name, simultaneously."""
    if isinstance(expr, Var):
        return values.get(expr.name, expr)
    if expr_facts(expr).variables.isdisjoint(values):
        return expr
    return map_operands(expr, lambda inner: substitute(inner, values))


def children(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly under a statement; a block's `init` before its body."""
    match stmt:
        case Store() | Invoke():
            return ()
        case Seq(body=body):
            return body
        case For(body=body) | If(body=body) | Alloc(body=body):
            return (body,)
        case Block(init=init, body=body):
            return (body,) if init is None else (init, body)
        case _:
            assert_never(stmt)


def map_children(stmt: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
    """Return the node with changed child statements; the same object if none changed."""
    match stmt:
        case Store() | Invoke():
            return stmt
        case Seq(body=body):
            return with_parts(stmt, [change(each) for each in body])
        case For(body=inside) | If(body=inside) | Alloc(body=inside):
            return with_body(stmt, change(inside))
        case Block(init=init, body=inside):
            first = None if init is None else change(init)
            new = change(inside)
            same = first is init and new is inside
            return stmt if same else Block(stmt.name, stmt.iters, stmt.guard, first, new)
        case _:
            assert_never(stmt)


def with_body(stmt: For | If | Alloc, body: Stmt) -> Stmt:
    """Return `stmt` with another body; `stmt` itself if `body` is its body, or an `If` that
    is equal to its body and holds the same statement."""
    match body, stmt.body:
        case (
            If(condition=test, body=inside),
            If(condition=old, body=around),
        ) if inside is around and test == old:
            return stmt
        case _ if body is stmt.body:
            return stmt
    match stmt:
        case For(var=var, extent=extent, kind=kind):
            return For(var, extent, kind, body)
        case If(condition=condition):
            return If(condition, body)
        case Alloc(buffer=buffer):
            return Alloc(buffer, body)
        case _:
            assert_never(stmt)


def with_parts(seq: Seq, parts: Sequence[Stmt]) -> Stmt:
    """Return the sequence with other statements; `seq` itself if the statements are the same."""
    return seq if _same(parts, seq.body) else sequence(*parts)


def _same(parts: Sequence[Stmt], others: Sequence[Stmt]) -> bool:
    """Whether two sequences hold the same objects."""
    return len(parts) == len(others) and all(map(operator.is_, parts, others))


def sequence(*parts: Stmt) -> Stmt:
    """Return a sequence of statements in normal form: no nested sequences, no sequence of a single
    statement, and each allocation extends to the end of its sequence."""
    flat: list[Stmt] = []
    for part in parts:
        flat += part.body if isinstance(part, Seq) else [part]
    for at, part in enumerate(flat[:-1]):
        if isinstance(part, Alloc):
            flat[at:] = [replace(part, body=sequence(part.body, *flat[at + 1 :]))]
            break
    if len(flat) == 1:
        return flat[0]
    first = parts[0] if parts else None
    return first if isinstance(first, Seq) and _same(flat, first.body) else Seq(tuple(flat))


def statements(stmt: Stmt) -> Iterator[Stmt]:
    """A statement and all its descendants, in the order of the text."""
    return _preorder(stmt, children)


def rewrite(stmt: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
    """Return a statement with `change` applied to it and its descendants, in post-order."""
    return change(map_children(stmt, lambda child: rewrite(child, change)))


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks in a statement, in the order of the text."""
    inside = facts(stmt).blocks
    return (stmt, *inside) if isinstance(stmt, Block) else inside


def loops(stmt: Stmt) -> Iterator[For]:
    """The loops in a statement, in the order of the text."""
    return (each for each in statements(stmt) if isinstance(each, For))


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement, without the expressions of its child statements."""
    match stmt:
        case Store(indices=indices, value=value):
            return (*indices, value)
        case For(extent=extent):
            return (extent,)
        case If(condition=condition):
            return (condition,)
        case Block(iters=iters, guard=guard):
            return (*(each.value for each in iters), *guard)
        case Invoke(operands=regions):
            return tuple(lower for region in regions for lower in region.lower)
        case Seq() | Alloc():
            return ()
        case _:
            assert_never(stmt)


def map_expressions(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """Return a statement with its own expressions changed, not those of its child statements; the
    same object if no expression changed."""
    old = expressions(stmt)
    new = _all(old, change)
    if new is old:
        return stmt
    match stmt:
        case Store(buffer=buffer):
            return Store(buffer, new[:-1], new[-1])
        case For(var=var, kind=kind, body=body):
            return For(var, new[0], kind, body)
        case If(body=body):
            return If(new[0], body)
        case Block(iters=iters):
            values = zip(iters, new[: len(iters)], strict=True)
            bound = tuple(replace(axis, value=value) for axis, value in values)
            return replace(stmt, iters=bound, guard=new[len(iters) :])
        case Invoke(intrinsic=intrinsic, operands=regions):
            left = iter(new)
            moved = (Region(r.buffer, tuple(islice(left, len(r.lower))), r.shape) for r in regions)
            return Invoke(intrinsic, tuple(moved))
        case Seq() | Alloc():
            return stmt
        case _:
            assert_never(stmt)


def substitute_in(stmt: Stmt, values: Mapping[str, Expr]) -> Stmt:
    """Return a statement with variables replaced (names are unique: none is captured)."""
    if not facts(stmt).mentions(values):
        return stmt
    stmt = map_expressions(stmt, lambda expr: substitute(expr, values))
    return map_children(stmt, lambda child: substitute_in(child, values))


def map_accesses(stmt: Stmt, names: Collection[str], change: _Access) -> Stmt:
    """Return a statement with its own accesses to buffers of these names changed, not those of
    its child statements; the same object if the statement has no such access.

    Parameters
    ----------
    change
        Maps the buffer and the indices of a load or store to a new buffer and indices; likewise the
        buffer and the lower corner of an operand, whose new leading dimensions have extent 1.
    """

    def in_expr(expr: Expr) -> Expr:
        if expr_facts(expr).loads.keys().isdisjoint(names):
            return expr
        expr = map_operands(expr, in_expr)
        if isinstance(expr, Load) and expr.buffer.name in names:
            return Load(*change(expr.buffer, expr.indices))
        return expr

    def in_region(region: Region) -> Region:
        if region.buffer.name not in names:
            return region
        buffer, lower = change(region.buffer, region.lower)
        return Region(buffer, lower, (1,) * (len(lower) - len(region.shape)) + region.shape)

    stmt = map_expressions(stmt, in_expr)
    match stmt:
        case Store(buffer=buffer, indices=indices, value=value) if buffer.name in names:
            return Store(*change(buffer, indices), value)
        case Invoke(intrinsic=intrinsic, operands=old):
            new = _all(old, in_region)
            return stmt if new is old else Invoke(intrinsic, new)
        case _:
            return stmt


def map_accesses_in(stmt: Stmt, names: Collection[str], change: _Access) -> Stmt:
    """Apply `map_accesses` to a statement and its descendants; allocations stay."""
    if not facts(stmt).uses(names):
        return stmt
    stmt = map_children(stmt, lambda child: map_accesses_in(child, names, change))
    return map_accesses(stmt, names, change)


def reads(stmt: Stmt) -> Iterator[Load]:
    """The loads in a statement and its descendants."""
    return (
        node
        for inner in statements(stmt)
        for expr in expressions(inner)
        for node in subexpressions(expr)
        if isinstance(node, Load)
    )


def writes(stmt: Stmt) -> Iterator[Store]:
    """The stores in a statement and its descendants."""
    return (each for each in statements(stmt) if isinstance(each, Store))


def buffers_in(function: PrimFunc) -> tuple[Buffer, ...]:
    """The inputs, the outputs and all buffers that a function allocates, without duplicates."""
    allocated = facts(function.body).allocated.values()
    return tuple(dict.fromkeys((*function.inputs, *function.outputs, *allocated)))
