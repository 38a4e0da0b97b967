"""The pass that replaces blocks by plain statements under conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.compiler.ir.dtypes import BOOL
from tandem.compiler.ir.expr import Const
from tandem.compiler.ir.ops import equal
from tandem.compiler.ir.stmt import Block, IterKind, PrimFunc, Stmt
from tandem.compiler.ir.visit import rewrite, sequence, substitute_in
from tandem.compiler.lower.conditions import guarded


@dataclass(frozen=True)
class LowerBlocks:
    """Replaces each block by its body, with the block's axes replaced by their values.

    Before::

        block C(spatial i < 8 = C.i, reduce k < 4 = C.k):
          where C.i < 6
          init:
            C[i] = 0.0
          C[i] = C[i] + A[i, k]

    After::

        if C.i < 6:
          if C.k == 0:
            C[C.i] = 0.0
          C[C.i] = C[C.i] + A[C.i, C.k]
    """

    name: str = "lower-blocks"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program without blocks."""
        return replace(function, body=rewrite(function.body, _lower))


def _lower(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, Block):
        return stmt
    values = {axis.var.name: axis.value for axis in stmt.iters}
    body = substitute_in(stmt.body, values)
    if stmt.init is not None:
        first_iteration = [
            equal(axis.value, 0)
            for axis in stmt.iters
            if axis.kind is IterKind.REDUCE and axis.value != Const(0)
        ]
        body = sequence(guarded(first_iteration, substitute_in(stmt.init, values)), body)
    return guarded((each for each in stmt.guard if each != Const(True, BOOL)), body)
