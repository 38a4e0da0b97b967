"""The pass that shrinks loop extents to upper bounds from conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Binary, Const, Expr
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.interval import Ranges
from tandem.compiler.ir.linear import Linear, linear
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import maximum, minimum
from tandem.compiler.ir.simplify import simplify
from tandem.compiler.ir.stmt import For, If, LoopKind, PrimFunc, Stmt
from tandem.compiler.ir.visit import map_children, variables, with_body
from tandem.compiler.lower.conditions import conjuncts, guarded, reads_memory
from tandem.compiler.lower.ranges import loop_range


@dataclass(frozen=True, slots=True)
class TightenLoops:
    """Ends a loop whose whole body is under `a * var + b < c` where the condition first fails.

    Before::

        for C.i_i in 16:
          if C.i_o * 16 + C.i_i < 50:
            C[C.i_o * 16 + C.i_i] = 0.0

    After::

        for C.i_i in min(16, 50 - C.i_o * 16):
          C[C.i_o * 16 + C.i_i] = 0.0

    Vectorized and unrolled loops and virtual threads need a constant extent, and keep their
    condition; so do loops whose extent would differ between lanes of a vectorized loop.
    """

    name: str = "tighten-loops"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program with shorter loops."""
        return replace(function, body=shorter_loops(function.body))


def shorter_loops(stmt: Stmt) -> Stmt:
    """The statement with shorter loops."""
    return _tighten(stmt, {}, frozenset())


_CONSTANT_EXTENT = (LoopKind.VECTORIZED, LoopKind.UNROLLED, LoopKind.VIRTUAL_THREAD)


def _tighten(stmt: Stmt, ranges: Ranges, lanes: frozenset[str]) -> Stmt:
    """The statement with shorter loops; `lanes` are the variables of vectorized loops around."""
    if not facts(stmt).conditional:
        return stmt
    if not isinstance(stmt, For):
        return map_children(stmt, lambda child: _tighten(child, ranges, lanes))
    inside = {**ranges, stmt.var.name: loop_range(stmt, ranges)}
    is_lane = stmt.kind is LoopKind.VECTORIZED
    body = _tighten(stmt.body, inside, lanes | {stmt.var.name} if is_lane else lanes)
    if stmt.kind in _CONSTANT_EXTENT or not isinstance(body, If):
        return with_body(stmt, body)
    extent, kept = stmt.extent, []
    for test in conjuncts(body.condition):
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
    """The extent that a condition limits a loop to; None if the condition is no upper bound."""
    if not isinstance(test, Binary) or test.op not in (BinaryOp.LT, BinaryOp.LE):
        return None
    if test.left.dtype != INDEX or reads_memory(test):
        return None
    # The test is 0 < slack, which is factor * var < bound.
    slack = linear(test.right) - linear(test.left)
    if test.op is BinaryOp.LE:
        slack = slack.shifted(1)
    factor = -slack.factor(loop.var)
    bound = slack.plus(Linear.atom(loop.var), factor)
    if factor <= 0 or any(loop.var.name in variables(atom) for atom, _ in bound.terms):
        return None
    if factor == 1:
        return bound.expr()
    return Binary(BinaryOp.FLOORDIV, bound.shifted(factor - 1).expr(), Const(factor))
