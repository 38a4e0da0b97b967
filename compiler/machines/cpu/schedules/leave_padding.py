"""The pass that leaves padding as it is, for processors that write it byte by byte."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.compiler.ir.expr import Const, Select
from tandem.compiler.ir.simplify import simplify_function
from tandem.compiler.ir.stmt import For, If, LoopKind, PrimFunc, Stmt, Store
from tandem.compiler.ir.visit import rewrite, statements, variables
from tandem.compiler.lower.tighten_loops import shorter_loops


@dataclass(frozen=True, slots=True)
class LeavePadding:
    """Leaves elements unwritten that are zero for being padding, of a result whose padding is
    undefined.

    Before::

        for lane in 8 vectorized:
          y[i, lane] = select(lane < 1, x[i], 0)

    After::

        for lane in 1:
          y[i, lane] = x[i]

    Attributes
    ----------
    output
        The result.
    """

    output: str
    name: str = "leave-padding"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program that writes less."""
        body = rewrite(function.body, self._written)
        if body is function.body:
            return function
        return simplify_function(replace(function, body=shorter_loops(body)))

    def _written(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Store(
                buffer=buffer,
                indices=indices,
                value=Select(condition=condition, then=value, otherwise=Const(value=0)),
            ) if buffer.name == self.output:
                return If(condition, Store(buffer, indices, value))
            case For(var=var, kind=LoopKind.VECTORIZED, body=body) if any(
                isinstance(inner, If) and var.name in variables(inner.condition)
                for inner in statements(body)
            ):
                return replace(stmt, kind=LoopKind.SERIAL)
            case _:
                return stmt
