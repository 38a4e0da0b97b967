"""Simplifies expressions and programs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from tandem.compiler.ir.dtypes import BOOL
from tandem.compiler.ir.expr import Binary, Const, Expr
from tandem.compiler.ir.interval import NO_RANGES, Ranges
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.linear_ops import flatten_operands, negated
from tandem.compiler.ir.normal import Normaliser
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import all_of
from tandem.compiler.ir.prove import prove
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    For,
    If,
    Invoke,
    IterKind,
    PrimFunc,
    Seq,
    Stmt,
    Store,
)
from tandem.compiler.ir.visit import map_children, map_expressions, with_body


def simplify(expr: Expr, ranges: Ranges = NO_RANGES) -> Expr:
    """Return the normal form of an expression, equal wherever variables are in their ranges.

    The results are bit-identical in every type: arithmetic of floats, and of integers that wrap, is
    not reordered. Index arithmetic on variables is assumed not to overflow. Simplification is
    idempotent.
    """
    return Normaliser(ranges).expr(expr)


def simplify_function(function: PrimFunc) -> PrimFunc:
    """Return a program with its expressions simplified for the ranges of loops and the conditions.

    Removes conditions that always hold, statements that are never executed, and empty loops and
    blocks. Loops of one iteration stay: schedules refer to their names.
    """
    body = _Context(NO_RANGES, ()).simplified(function.body)
    return replace(function, body=body)


@dataclass(frozen=True, slots=True)
class _Context:
    """The ranges of variables at one point of a program, and the conditions that hold there."""

    ranges: Ranges
    known: tuple[Expr, ...]

    def simplified(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Store() | Invoke():
                return map_expressions(stmt, Normaliser(self.ranges).expr)
            case Seq():
                return map_children(stmt, self.simplified)
            case Alloc(body=body):
                return _around(stmt, self.simplified(body))
            case For():
                return self._loop(stmt)
            case If():
                return self._branch(stmt)
            case Block():
                return self._block(stmt)
            case _:
                assert_never(stmt)

    def _loop(self, loop: For) -> Stmt:
        normal = Normaliser(self.ranges)
        extent = normal.expr(loop.extent)
        found = normal.sums.interval(normal.linear(loop.extent))
        last = None if found.high is None else found.high - 1
        if last is not None and last < 0:
            # Never executed: any condition could be proved in the body; leave it unchanged.
            return loop if extent is loop.extent else replace(loop, extent=extent)
        known = self.known
        if not isinstance(extent, Const):
            known = (*known, Binary(BinaryOp.LT, loop.var, extent))
        inside = _Context({**self.ranges, loop.var.name: Interval(0, last)}, known)
        body = inside.simplified(loop.body)
        return _around(loop if extent is loop.extent else replace(loop, extent=extent), body)

    def _branch(self, stmt: If) -> Stmt:
        conditions = self._conditions((stmt.condition,))
        if conditions == (Const(False, BOOL),):
            return Seq(())
        body = _Context(self.ranges, (*self.known, *conditions)).simplified(stmt.body)
        condition = all_of(*conditions)
        if condition != stmt.condition:
            stmt = replace(stmt, condition=condition)
        return _around(stmt, body) if conditions else body

    def _block(self, block: Block) -> Stmt:
        normal = Normaliser(self.ranges)
        axes = {each.var.name: Interval(0, each.extent - 1) for each in block.iters}
        guard = self._conditions(block.guard)
        block = replace(
            block,
            iters=tuple(replace(each, value=normal.expr(each.value)) for each in block.iters),
            guard=guard,
        )
        if any(each.empty for each in axes.values()) or guard == (Const(False, BOOL),):
            return block
        first = {axis.var.name: Interval(0, 0) for axis in block.axes(IterKind.REDUCE)}
        # A block uses no variables but its axes.
        init = None if block.init is None else _Context(axes | first, ()).simplified(block.init)
        return replace(block, init=init, body=_Context(axes, ()).simplified(block.body))

    def _conditions(self, conditions: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The conditions not implied by the others or `known`; only False if they contradict."""
        normal = Normaliser(self.ranges)
        never = (Const(False, BOOL),)
        left = [
            part
            for condition in conditions
            for part in flatten_operands(BinaryOp.AND, normal.expr(condition))
        ]
        for part in list(dict.fromkeys(left)):
            others = [each for each in left if each != part]
            if prove(part, self.ranges, (*self.known, *others)):
                left = others
                continue
            opposite = negated(part)
            if opposite is not None and prove(opposite, self.ranges, (*self.known, *others)):
                return never
        return tuple(dict.fromkeys(left))


def _around(stmt: For | If | Alloc, body: Stmt) -> Stmt:
    """Return a statement with a simplified body; the empty sequence if the body is empty."""
    return body if body == Seq(()) else with_body(stmt, body)
