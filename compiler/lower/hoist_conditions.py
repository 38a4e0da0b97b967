"""Conditions move out of the loops that they do not depend on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.ir.expr import Expr
from compiler.ir.facts import facts
from compiler.ir.stmt import Alloc, For, Function, If, Seq, Stmt
from compiler.ir.visit import map_children, variables, with_body, with_parts
from compiler.lower.conditions import guarded, parts, reads_memory

__all__ = ["HoistConditions"]


@dataclass(frozen=True, slots=True)
class HoistConditions:
    """A condition that holds or fails for all that a loop does is tested before the loop.

    Before::

        for C.j in 16:
          if C.i < 6 & C.j < C.k:
            C[C.i, C.j] = 0.0

    After::

        if C.i < 6:
          for C.j in 16:
            if C.j < C.k:
              C[C.i, C.j] = 0.0

    Conditions on data stay.
    """

    name: str = "hoist-conditions"

    def apply(self, function: Function) -> Function:
        """The program with conditions as far out as they go."""
        return replace(function, body=_whole(function.body))


def _split(stmt: Stmt) -> tuple[tuple[Expr, ...], Stmt]:
    """Conditions on which all of a statement depends, and the statement without them."""
    if not facts(stmt).conditional:
        return (), stmt
    match stmt:
        case If(condition=condition, body=body):
            tests = parts(condition)
            kept = tuple(each for each in tests if reads_memory(each))
            inner, body = _split(body)
            free = tuple(each for each in tests if not reads_memory(each))
            if kept:
                # What is inside must not be tested sooner than a condition on data around it:
                # it may well be, but nothing is gained.
                return free, guarded(kept, guarded(inner, body))
            return tuple(dict.fromkeys((*free, *inner))), body
        case For(var=var, body=body):
            conditions, body = _split(body)
            inner = tuple(each for each in conditions if var.name in variables(each))
            outer = tuple(each for each in conditions if var.name not in variables(each))
            return outer, with_body(stmt, guarded(inner, body))
        case Alloc(body=body):
            conditions, body = _split(body)
            return conditions, with_body(stmt, body)
        case Seq(body=body):
            split = [_split(each) for each in body]
            shared = tuple(
                each
                for each in split[0][0]
                if all(each in conditions for conditions, _ in split[1:])
            )
            left = [
                guarded((each for each in conditions if each not in shared), part)
                for conditions, part in split
            ]
            return shared, with_parts(stmt, left)
        case _:
            return (), map_children(stmt, _whole)


def _whole(stmt: Stmt) -> Stmt:
    conditions, body = _split(stmt)
    return guarded(conditions, body)
