"""Buffers shrink to what one turn of the loops around them uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from compiler.ir.boxes import Box, NotABox, box, union
from compiler.ir.buffer import Buffer
from compiler.ir.expr import Binary, BinaryOp, Expr, Load, Var
from compiler.ir.facts import expr_facts
from compiler.ir.interval import Interval
from compiler.ir.normal import Normaliser
from compiler.ir.stmt import Alloc, For, Function, Invoke, Region, Stmt, Store
from compiler.ir.visit import (
    children,
    expressions,
    map_accesses,
    map_children,
    subexpressions,
)
from compiler.lower.ranges import loop_range

__all__ = ["CompactBuffers"]

Ranges = dict[str, Interval]
"""What loops' variables can be, outermost first."""


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
        uses = _Uses()
        uses.find(function.body, {})
        shrunk = {name: found for name in uses.outer if (found := uses.shrunk(name)) is not None}
        return replace(function, body=_moved(function.body, shrunk, {}))


@dataclass(frozen=True, slots=True)
class _Shrunk:
    """A buffer as small as can be, and where it begins in the old one."""

    buffer: Buffer
    lower: tuple[Expr, ...]


class _Uses:
    """The uses of all buffers, found in one walk."""

    def __init__(self) -> None:
        self.outer: dict[str, Ranges] = {}
        """By buffer, the ranges of the loops around its allocation."""
        self._buffers: dict[str, Buffer] = {}
        self._found: dict[str, list[tuple[Sequence[Expr], Ranges]]] = {}
        """By buffer, indices and the ranges of the loops between its allocation and the use."""

    def find(self, stmt: Stmt, ranges: Ranges) -> None:
        """Keep the uses in a statement; `ranges` are those of the loops around it."""
        for expr in expressions(stmt):
            for load in subexpressions(expr) if expr_facts(expr).loads else ():
                if isinstance(load, Load):
                    self._add(load.buffer, load.indices, ranges)
        match stmt:
            case Store(buffer=buffer, indices=indices):
                self._add(buffer, indices, ranges)
            case Invoke(operands=operands):
                for region in operands:
                    self._add(region.buffer, *_region(region, ranges))
            case Alloc(buffer=buffer):
                self.outer[buffer.name], self._buffers[buffer.name] = ranges, buffer
                self._found[buffer.name] = []
            case For():
                ranges = {**ranges, stmt.var.name: loop_range(stmt, ranges)}
            case _:
                pass
        for each in children(stmt):
            self.find(each, ranges)

    def _add(self, buffer: Buffer, indices: Sequence[Expr], ranges: Ranges) -> None:
        if buffer.name in self.outer:
            # Loops around the allocation were met first.
            inner = dict(islice(ranges.items(), len(self.outer[buffer.name]), None))
            self._found[buffer.name].append((indices, inner))

    def shrunk(self, name: str) -> _Shrunk | None:
        """A buffer made smaller; None: it stays."""
        buffer, outer = self._buffers[name], self.outer[name]
        try:
            boxes = [
                box(indices, inner, outer, buffer.shape) for indices, inner in self._found[name]
            ]
            used = union(boxes, buffer.shape, outer) if boxes else Box((), ())
        except NotABox:
            return None
        if not boxes or used.shape == buffer.shape:
            return None
        return _Shrunk(replace(buffer, shape=used.shape), used.lower)


def _region(region: Region, inner: Ranges) -> tuple[list[Expr], Ranges]:
    """A box as one index for each dimension, along variables of its own."""
    indices = list(region.lower)
    for axis, extent in enumerate(region.shape):
        if extent != 1:
            along = Var(f"in.{axis}")
            indices[axis] = indices[axis] + along
            inner = {**inner, along.name: Interval(0, extent - 1)}
    return indices, inner


def _moved(stmt: Stmt, shrunk: Mapping[str, _Shrunk], ranges: Ranges) -> Stmt:
    """All uses of smaller buffers, relative to where these begin."""

    normal = Normaliser(ranges)

    def relative(buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        found = shrunk[buffer.name]
        pairs = zip(indices, found.lower, strict=True)
        moved = (normal.expr(Binary(BinaryOp.SUB, each, low)) for each, low in pairs)
        return found.buffer, tuple(moved)

    stmt = map_accesses(stmt, shrunk, relative)
    inside = ranges
    match stmt:
        case Alloc(buffer=buffer, body=body) if (found := shrunk.get(buffer.name)) is not None:
            return Alloc(found.buffer, _moved(body, shrunk, ranges))
        case For():
            inside = {**ranges, stmt.var.name: loop_range(stmt, ranges)}
        case _:
            pass
    return map_children(stmt, lambda each: _moved(each, shrunk, inside))
