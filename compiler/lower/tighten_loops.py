"""Loops end where their condition would fail for good."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.ir.dtypes import INDEX
from compiler.ir.expr import Binary, BinaryOp, Const, Expr
from compiler.ir.facts import facts
from compiler.ir.interval import Ranges
from compiler.ir.linear import Linear, linear
from compiler.ir.ops import maximum, minimum
from compiler.ir.simplify import simplify
from compiler.ir.stmt import For, Function, If, LoopKind, Stmt
from compiler.ir.visit import map_children, variables, with_body
from compiler.lower.conditions import guarded, parts, reads_memory
from compiler.lower.ranges import loop_range

__all__ = ["TightenLoops"]


@dataclass(frozen=True, slots=True)
class TightenLoops:
    """A loop whose whole body asks for `a * var + b < c` runs only that far.

    Before::

        for C.i_i in 16:
          if C.i_o * 16 + C.i_i < 50:
            C[C.i_o * 16 + C.i_i] = 0.0

    After::

        for C.i_i in min(16, 50 - C.i_o * 16):
          C[C.i_o * 16 + C.i_i] = 0.0

    Vectorized and unrolled loops and virtual threads need their extent to be a number, and keep the
    condition; so do loops whose extent would differ from lane to lane of a vectorized one around
    them.
    """

    name: str = "tighten-loops"

    def apply(self, function: Function) -> Function:
        """The program with fewer turns."""
        return replace(function, body=_tighten(function.body, {}, frozenset()))


_NUMBERS = (LoopKind.VECTORIZED, LoopKind.UNROLLED, LoopKind.VIRTUAL_THREAD)


def _tighten(stmt: Stmt, ranges: Ranges, lanes: frozenset[str]) -> Stmt:
    """`lanes`: the variables of vectorized loops around."""
    if not facts(stmt).conditional:
        return stmt
    if not isinstance(stmt, For):
        return map_children(stmt, lambda each: _tighten(each, ranges, lanes))
    inside = {**ranges, stmt.var.name: loop_range(stmt, ranges)}
    is_lane = stmt.kind is LoopKind.VECTORIZED
    body = _tighten(stmt.body, inside, lanes | {stmt.var.name} if is_lane else lanes)
    if stmt.kind in _NUMBERS or not isinstance(body, If):
        return with_body(stmt, body)
    extent, kept = stmt.extent, []
    for test in parts(body.condition):
        limit = _limit(test, stmt)
        if limit is None or variables(limit) & lanes:
            kept.append(test)
        else:
            extent = minimum(extent, limit)
    if extent == stmt.extent:
        return with_body(stmt, body)
    extent = simplify(maximum(extent, 0), ranges)
    return For(stmt.var, extent, stmt.kind, guarded(kept, body.body))


def _limit(test: Expr, loop: For) -> Expr | None:
    """The extent to which a condition cuts a loop; None if it asks for something else."""
    if not isinstance(test, Binary) or test.op not in (BinaryOp.LT, BinaryOp.LE):
        return None
    if test.left.dtype != INDEX or reads_memory(test):
        return None
    # a * var < room
    room = linear(test.right) - linear(test.left)
    if test.op is BinaryOp.LE:
        room = room.shifted(1)
    factor = -room.factor(loop.var)
    rest = room + Linear(((loop.var, factor),))
    if factor <= 0 or any(loop.var.name in variables(atom) for atom, _ in rest.terms):
        return None
    if factor == 1:
        return rest.expr()
    return Binary(BinaryOp.FLOORDIV, rest.shifted(factor - 1).expr(), Const(factor))
