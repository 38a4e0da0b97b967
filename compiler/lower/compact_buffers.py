"""The pass that shrinks allocated buffers to the box of elements used in one lifetime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from tandem.compiler.ir.boxes import UnboundedBoxError, box, union
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Binary, Expr, Load, Var
from tandem.compiler.ir.facts import expr_facts
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.normal import Normaliser
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.stmt import Alloc, For, Invoke, PrimFunc, Region, Stmt, Store
from tandem.compiler.ir.visit import (
    children,
    expressions,
    map_accesses,
    map_children,
    subexpressions,
)
from tandem.compiler.lower.ranges import loop_range

Ranges = dict[str, Interval]
"""The values of loop variables, outermost loop first."""


@dataclass(frozen=True, slots=True)
class CompactBuffers:
    """Shrinks each allocated buffer to the box that is used within its allocation.

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

    A schedule keeps buffers whole, because a block's indices use its axes and not loops; without
    blocks, indices can become relative. (TVM: `compact_buffer_allocation`.)
    """

    name: str = "compact-buffers"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program with smaller buffers. It must have no blocks."""
        uses = _BufferUses()
        uses.collect(function.body, {})
        shrunk = {name: found for name in uses.outer if (found := uses.shrunk(name)) is not None}
        return replace(function, body=_rebased(function.body, shrunk, {}))


@dataclass(frozen=True, slots=True)
class _Shrunk:
    """A smaller buffer, and its first element's indices in the old one."""

    buffer: Buffer
    lower: tuple[Expr, ...]


class _BufferUses:
    """The accesses to all allocated buffers, collected in one walk."""

    def __init__(self) -> None:
        self.outer: dict[str, Ranges] = {}
        """The ranges of the loops around each buffer's allocation, by buffer."""
        self._buffers: dict[str, Buffer] = {}
        self._accesses: dict[str, list[tuple[Sequence[Expr], Ranges]]] = {}
        """Indices of accesses by buffer, and ranges of the loops between allocation and access."""

    def collect(self, stmt: Stmt, ranges: Ranges) -> None:
        """Record the accesses in a statement; `ranges` are those of the loops around it."""
        for expr in expressions(stmt):
            for load in subexpressions(expr) if expr_facts(expr).loads else ():
                if isinstance(load, Load):
                    self._add(load.buffer, load.indices, ranges)
        match stmt:
            case Store(buffer=buffer, indices=indices):
                self._add(buffer, indices, ranges)
            case Invoke(operands=operands):
                for region in operands:
                    self._add(region.buffer, *_box_indices(region, ranges))
            case Alloc(buffer=buffer):
                self.outer[buffer.name], self._buffers[buffer.name] = ranges, buffer
                self._accesses[buffer.name] = []
            case For():
                ranges = {**ranges, stmt.var.name: loop_range(stmt, ranges)}
            case _:
                pass
        for child in children(stmt):
            self.collect(child, ranges)

    def _add(self, buffer: Buffer, indices: Sequence[Expr], ranges: Ranges) -> None:
        if buffer.name in self.outer:
            # Loops around the allocation come first among the ranges.
            inner = dict(islice(ranges.items(), len(self.outer[buffer.name]), None))
            self._accesses[buffer.name].append((indices, inner))

    def shrunk(self, name: str) -> _Shrunk | None:
        """The smaller buffer; None if the buffer cannot shrink."""
        buffer, outer = self._buffers[name], self.outer[name]
        if not self._accesses[name]:
            return None
        try:
            boxes = [box(at, inner, outer, buffer.shape) for at, inner in self._accesses[name]]
            used = union(boxes, buffer.shape, outer)
        except UnboundedBoxError:
            return None
        if used.shape == buffer.shape:
            return None
        return _Shrunk(replace(buffer, shape=used.shape), used.lower)


def _box_indices(region: Region, inner: Ranges) -> tuple[list[Expr], Ranges]:
    """One index for each dimension of an operand's box, with a new variable along each side, and
    the ranges with these variables."""
    indices = list(region.lower)
    for axis, extent in enumerate(region.shape):
        if extent != 1:
            along = Var(f"in.{axis}")
            indices[axis] = indices[axis] + along
            inner = {**inner, along.name: Interval(0, extent - 1)}
    return indices, inner


def _rebased(stmt: Stmt, shrunk: Mapping[str, _Shrunk], ranges: Ranges) -> Stmt:
    """The statement with smaller buffers, and indices relative to their first elements."""
    normal = Normaliser(ranges)

    def relative(buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        found = shrunk[buffer.name]
        pairs = zip(indices, found.lower, strict=True)
        return found.buffer, tuple(normal.expr(Binary(BinaryOp.SUB, at, low)) for at, low in pairs)

    stmt = map_accesses(stmt, shrunk, relative)
    match stmt:
        case Alloc(buffer=buffer, body=body) if (found := shrunk.get(buffer.name)) is not None:
            return Alloc(found.buffer, _rebased(body, shrunk, ranges))
        case For():
            ranges = {**ranges, stmt.var.name: loop_range(stmt, ranges)}
        case _:
            pass
    return map_children(stmt, lambda child: _rebased(child, shrunk, ranges))
