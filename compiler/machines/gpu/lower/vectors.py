"""Copies by vectors that happen as a whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tandem.compiler.ir.expr import Binary, Const, Expr, Select, Unary, Var
from tandem.compiler.ir.linear import linear
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.stmt import For, If, LoopKind, PrimFunc, Stmt, Store
from tandem.compiler.ir.visit import (
    loops,
    map_children,
    sequence,
    substitute,
    substitute_in,
    variables,
    with_body,
)


@dataclass(frozen=True, slots=True)
class SplitConditions:
    """Takes conditions that are the same for all elements of a vector out of its loop.

    Before::

        for v in 4 vectorized:
          S[i * 4 + v] = select(i * 4 + v < 12, A[i * 4 + v], 0)

    After::

        if i * 4 < 12:
          for v in 4 vectorized:
            S[i * 4 + v] = A[i * 4 + v]
        if ~(i * 4 < 12):
          for v_ in 4 vectorized:
            S[i * 4 + v_] = 0
    """

    name: str = "split-conditions"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program with conditions around loops over vectors."""
        taken = {each.var.name for each in loops(function.body)}
        return replace(function, body=_split(function.body, taken))


def _split(stmt: Stmt, taken: set[str]) -> Stmt:
    match stmt:
        case For(
            var=var,
            kind=LoopKind.VECTORIZED,
            extent=Const(value=size),
            body=Store(value=Select() as chosen) as store,
        ):
            test = in_common(chosen.condition, var.name, int(size))
            if test is None:
                return stmt
            one = with_body(stmt, replace(store, value=chosen.then))
            # No two loops have the same name.
            other = Var(_new_name(var.name, taken))
            zeros = substitute_in(replace(store, value=chosen.otherwise), {var.name: other})
            beyond = replace(stmt, var=other, body=zeros)
            return sequence(
                If(test, _split(one, taken)), If(Unary(UnaryOp.NOT, test), _split(beyond, taken))
            )
        case _:
            return map_children(stmt, lambda child: _split(child, taken))


def _new_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def in_common(test: Expr, name: str, size: int) -> Expr | None:
    """The condition without a variable if it provably is the same for all of its values, from 0 to
    `size` - 1; else None."""
    if name not in variables(test):
        return test
    match test:
        case Binary(op=BinaryOp.AND | BinaryOp.OR, left=left, right=right):
            if in_common(left, name, size) is None or in_common(right, name, size) is None:
                return None
        case Unary(op=UnaryOp.NOT, operand=operand):
            if in_common(operand, name, size) is None:
                return None
        case Binary(op=BinaryOp.LT | BinaryOp.LE, left=left, right=right) if left.dtype.is_integer:
            # It is whether a sum is negative, which begins at a multiple of the size.
            found = linear(left) - linear(right)
            own = [(atom, factor) for atom, factor in found.terms if name in variables(atom)]
            others = [factor for atom, factor in found.terms if name not in variables(atom)]
            if len(own) != 1 or not isinstance(own[0][0], Var) or own[0][1] not in (1, -1):
                return None
            least = 0 if own[0][1] == 1 else size - 1
            constant = found.constant - (test.op is BinaryOp.LE)
            if constant % size != least or any(each % size for each in others):
                return None
        case _:
            return None
    return substitute(test, {name: index(0)})
