"""Buffers shrink to what one turn of the loops around them uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from compiler.ir.boxes import Box, NotABox, box, union
from compiler.ir.buffer import Buffer
from compiler.ir.expr import Const, Expr, Load, Var
from compiler.ir.interval import Interval, interval
from compiler.ir.simplify import simplify
from compiler.ir.stmt import Alloc, For, Function, Invoke, Region, Stmt, Store
from compiler.ir.visit import (
    children,
    expressions,
    map_children,
    map_expressions,
    map_operands,
    subexpressions,
)

__all__ = ["CompactBuffers"]

Ranges = dict[str, Interval]


@dataclass(frozen=True, slots=True)
class CompactBuffers:
    """An allocated buffer keeps only the box that is used between its allocation and its end.

    Before::

        for C.i_o in 4:
          alloc P: float32[66]
          for P.i in 18:
            P[C.i_o * 16 + P.i] = ...
          for C.i_i in 16:
            C[C.i_o * 16 + C.i_i] = P[C.i_o * 16 + C.i_i + 2]

    After::

        for C.i_o in 4:
          alloc P: float32[18]
          for P.i in 18:
            P[P.i] = ...
          for C.i_i in 16:
            C[C.i_o * 16 + C.i_i] = P[C.i_i + 2]

    A schedule keeps buffers whole, because a block speaks of its own axes and not of loops; here,
    without blocks, indices can become relative. (TVM: `compact_buffer_allocation`.)
    """

    name: str = "compact-buffers"

    def apply(self, function: Function) -> Function:
        """The program with smaller buffers. It must have no blocks."""
        return replace(function, body=_compact(function.body, {}))


def _compact(stmt: Stmt, outer: Ranges) -> Stmt:
    match stmt:
        case For():
            inside = {**outer, stmt.var.name: _turns(stmt, outer)}
            return map_children(stmt, lambda each: _compact(each, inside))
        case Alloc(buffer=buffer, body=body):
            shrunk = _shrunk(buffer, body, outer)
            if shrunk is None:
                return replace(stmt, body=_compact(body, outer))
            small, lower = shrunk
            return Alloc(small, _compact(_moved(body, small, lower, outer), outer))
        case _:
            return map_children(stmt, lambda each: _compact(each, outer))


def _shrunk(buffer: Buffer, body: Stmt, outer: Ranges) -> tuple[Buffer, tuple[Expr, ...]] | None:
    """The buffer as small as can be, and where it begins in the old one; None: it stays."""
    try:
        boxes = [
            box(indices, inner, outer, buffer.shape)
            for indices, inner in _accesses(buffer.name, body, {}, outer)
        ]
        used = union(boxes, buffer.shape, outer) if boxes else Box((), ())
    except NotABox:
        return None
    if not boxes or used.shape == buffer.shape:
        return None
    return replace(buffer, shape=used.shape), used.lower


def _accesses(
    name: str, stmt: Stmt, inner: Ranges, outer: Ranges
) -> Iterator[tuple[list[Expr], Ranges]]:
    """Indices at which the buffer is used, and the ranges of the loops inside its allocation."""
    for expr in expressions(stmt):
        for load in subexpressions(expr):
            if isinstance(load, Load) and load.buffer.name == name:
                yield list(load.indices), inner
    match stmt:
        case Store(buffer=buffer, indices=indices) if buffer.name == name:
            yield list(indices), inner
        case Invoke(operands=operands):
            for region in operands:
                if region.buffer.name == name:
                    yield _region(region, inner)
        case For():
            inner = {**inner, stmt.var.name: _turns(stmt, {**outer, **inner})}
        case _:
            pass
    for each in children(stmt):
        yield from _accesses(name, each, inner, outer)


def _region(region: Region, inner: Ranges) -> tuple[list[Expr], Ranges]:
    """A box as one index for each dimension, along variables of its own."""
    along = [Var(f"in.{number}") for number in range(len(region.shape))]
    ranges = {
        var.name: Interval(0, extent - 1) for var, extent in zip(along, region.shape, strict=True)
    }
    indices = [low + var for low, var in zip(region.lower, along, strict=True)]
    return indices, {**inner, **ranges}


def _moved(stmt: Stmt, small: Buffer, lower: tuple[Expr, ...], ranges: Ranges) -> Stmt:
    """The buffer's uses, relative to `lower`."""

    def relative(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(simplify(each - low, ranges) for each, low in zip(indices, lower, strict=True))

    def in_expr(expr: Expr) -> Expr:
        expr = map_operands(expr, in_expr)
        if isinstance(expr, Load) and expr.buffer.name == small.name:
            return Load(small, relative(expr.indices))
        return expr

    stmt = map_expressions(stmt, in_expr)
    match stmt:
        case Store(buffer=buffer) if buffer.name == small.name:
            return Store(small, relative(stmt.indices), stmt.value)
        case Invoke(operands=operands):
            return replace(
                stmt,
                operands=tuple(
                    Region(small, relative(each.lower), each.shape)
                    if each.buffer.name == small.name
                    else each
                    for each in operands
                ),
            )
        case For():
            inside = {**ranges, stmt.var.name: _turns(stmt, ranges)}
            return map_children(stmt, lambda each: _moved(each, small, lower, inside))
        case _:
            return map_children(stmt, lambda each: _moved(each, small, lower, ranges))


def _turns(loop: For, ranges: Ranges) -> Interval:
    """What the loop's variable can be."""
    if isinstance(loop.extent, Const):
        return Interval(0, int(loop.extent.value) - 1)
    high = interval(loop.extent, ranges).high
    return Interval(0, None if high is None else high - 1)
