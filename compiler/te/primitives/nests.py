"""Loop nests as wholes: found, built, renamed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.ir.dtypes import BOOL
from compiler.ir.expr import Const, Expr, Var
from compiler.ir.ops import index
from compiler.ir.simplify import simplify
from compiler.ir.stmt import Block, For, IterKind, Stmt
from compiler.ir.visit import blocks, substitute
from compiler.te.build import loop_name
from compiler.te.primitives.base import Primitive
from compiler.te.roles import feeds
from compiler.te.tree import loops_among, path_to, ranges_of, stage_of

__all__ = ["element_nest", "own_nest"]


def own_nest(primitive: Primitive, body: Stmt, block: Block) -> Stmt:
    """The outermost of the loops that are a stage's own, with nothing else inside."""
    path = path_to(body, block)
    nest = next(
        (each for each in loops_among(path) if stage_of(each.var.name) == block.name), block
    )
    others = [each.name for each in blocks(nest) if each is not block]
    if others:
        primitive.refuse(f"{', '.join(others)} is computed inside the loops of {block.name}")
    return nest


def element_nest(
    stage: str, block: Block, inside: Sequence[For], around: Sequence[For], body: Stmt
) -> Stmt:
    """`body` once for each element that a block computes: its loops without those that join terms.

    Parameters
    ----------
    stage
        Name of the new block and of its loops.
    inside
        The block's loops, to be made anew.
    around
        The loops around these.
    """
    kept: list[For] = []
    values: dict[str, Expr] = {}
    for each in inside:
        if feeds(each.var.name, block) == {IterKind.SPATIAL}:
            var = Var(loop_name(stage, each.var.name.partition(".")[2]))
            values[each.var.name] = var
            kept.append(replace(each, var=var))
        else:
            values[each.var.name] = index(0)
    ranges = ranges_of((*around, *kept))

    def moved(expr: Expr) -> Expr:
        return simplify(substitute(expr, values), ranges)

    iters = tuple(
        replace(each, value=moved(each.value))
        for each in block.iters
        if each.kind is IterKind.SPATIAL
    )
    # What a guard says of terms holds of the first one.
    guard = tuple(test for test in map(moved, block.guard) if test != Const(True, BOOL))
    nested: Stmt = Block(stage, iters, guard, None, body)
    for each in reversed(kept):
        nested = replace(each, body=nested)
    return nested
