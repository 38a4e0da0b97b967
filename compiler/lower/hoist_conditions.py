"""The pass that moves loop-invariant conditions out of loops."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.stmt import Alloc, For, If, PrimFunc, Seq, Stmt
from tandem.compiler.ir.visit import map_children, variables, with_body, with_parts
from tandem.compiler.lower.conditions import conjuncts, guarded, reads_memory


@dataclass(frozen=True, slots=True)
class HoistConditions:
    """Tests a loop-invariant condition that guards the loop's whole body before the loop.

    Before::

        for C.j in 16:
          if C.i < 6 & C.j < C.k:
            C[C.i, C.j] = 0.0

    After::

        if C.i < 6:
          for C.j in 16:
            if C.j < C.k:
              C[C.i, C.j] = 0.0

    Conditions that load from buffers stay.
    """

    name: str = "hoist-conditions"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program with each condition outside of all loops in which it is invariant."""
        return replace(function, body=hoisted(function.body))


def _split(stmt: Stmt) -> tuple[tuple[Expr, ...], Stmt]:
    """Conditions that guard the whole statement, and the statement without them."""
    if not facts(stmt).conditional:
        return (), stmt
    match stmt:
        case If(condition=condition, body=body):
            tests = conjuncts(condition)
            kept = tuple(each for each in tests if reads_memory(each))
            inner, body = _split(body)
            free = tuple(each for each in tests if not reads_memory(each))
            if kept:
                # Nothing is gained by hoisting an inner condition past a condition on data.
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
            later = [conditions for conditions, _ in split[1:]]
            shared = tuple(each for each in split[0][0] if all(each in tests for tests in later))
            rest = [
                guarded((each for each in conditions if each not in shared), part)
                for conditions, part in split
            ]
            return shared, with_parts(stmt, rest)
        case _:
            return (), map_children(stmt, hoisted)


def hoisted(stmt: Stmt) -> Stmt:
    """The statement with each condition outside of all of its loops in which it is invariant."""
    return guarded(*_split(stmt))
