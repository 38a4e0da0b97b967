"""Index expressions with numbers for the loops around an instruction."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias

from compiler.errors import LoweringError
from compiler.ir.buffer import Buffer
from compiler.ir.dtypes import BOOL
from compiler.ir.expr import Binary, BinaryOp, Cast, Const, Expr, Load, Select, Unary, UnaryOp, Var
from compiler.ir.linear import Linear, linear
from compiler.ir.printer import text
from compiler.ir.visit import variables

__all__ = ["Env", "IndexSum", "number", "values_of"]

Env: TypeAlias = Mapping[str, int]
"""Values of variables."""

_Number: TypeAlias = Callable[[Env], int]

_INFIX: dict[BinaryOp, Callable[[int, int], int]] = {
    BinaryOp.ADD: lambda a, b: a + b,
    BinaryOp.SUB: lambda a, b: a - b,
    BinaryOp.MUL: lambda a, b: a * b,
    BinaryOp.FLOORDIV: lambda a, b: a // b if b else 0,
    BinaryOp.MOD: lambda a, b: a % b if b else 0,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
    BinaryOp.AND: lambda a, b: a & b,
    BinaryOp.OR: lambda a, b: a | b,
    BinaryOp.EQ: lambda a, b: int(a == b),
    BinaryOp.NE: lambda a, b: int(a != b),
    BinaryOp.LT: lambda a, b: int(a < b),
    BinaryOp.LE: lambda a, b: int(a <= b),
}


def number(expr: Expr) -> _Number:
    """A function that computes an index or a condition from variables.

    Raises
    ------
    LoweringError
        For what depends on data: the machine has no branches.
    """
    match expr:
        case Const(value=value):
            constant = int(value)
            return lambda env: constant
        case Var(name=name):
            return lambda env: env[name]
        case Binary(op=op, left=left, right=right) if op in _INFIX:
            apply, a, b = _INFIX[op], number(left), number(right)
            return lambda env: apply(a(env), b(env))
        case Unary(op=UnaryOp.NEG, operand=operand):
            inner = number(operand)
            return lambda env: -inner(env)
        case Unary(op=UnaryOp.NOT, operand=operand) if operand.dtype == BOOL:
            inner = number(operand)
            return lambda env: int(not inner(env))
        case Select(condition=condition, then=then, otherwise=otherwise):
            test, yes, no = number(condition), number(then), number(otherwise)
            return lambda env: yes(env) if test(env) else no(env)
        case Load() | Cast() | Unary() | Binary():
            raise LoweringError(f"an index or condition cannot be {text(expr)}: it needs data")


def values_of(names: Sequence[str]) -> Callable[[Env], Hashable]:
    """A function that gives the values of some variables: equal values are equal keys."""
    return itemgetter(*names) if names else lambda env: ()


@dataclass(frozen=True, slots=True)
class IndexSum:
    """A sum of which some variables, those of an instruction's loops, may be left open.

    Attributes
    ----------
    linear_terms
        Variables that the sum is linear in, with their factors.
    others
        Everything else, as functions, with factors and the variables that each needs.
    """

    linear_terms: tuple[tuple[str, int], ...]
    others: tuple[tuple[_Number, int, frozenset[str]], ...]
    constant: int

    @staticmethod
    def of(expr: Expr | Linear) -> IndexSum:
        """The sum that an index expression is."""
        total = expr if isinstance(expr, Linear) else linear(expr)
        terms = tuple((a.name, factor) for a, factor in total.terms if isinstance(a, Var))
        others = tuple(
            (number(a), factor, variables(a)) for a, factor in total.terms if not isinstance(a, Var)
        )
        return IndexSum(terms, others, total.constant)

    @staticmethod
    def of_address(buffer: Buffer, indices: Sequence[Expr]) -> IndexSum:
        """The position of an element among a buffer's values, which lie row-major."""
        total = Linear(())
        for index, stride in zip(indices, buffer.strides, strict=True):
            total = total.plus(linear(index), stride)
        return IndexSum.of(total)

    @property
    def names(self) -> frozenset[str]:
        """Every variable in it."""
        linear_in = frozenset(name for name, _ in self.linear_terms)
        return linear_in.union(*(names for _, _, names in self.others))

    def parted(self, inner: frozenset[str]) -> tuple[IndexSum, IndexSum]:
        """The part that some variables have nothing to do with and that is linear, and the rest."""
        terms = self.linear_terms
        outside = tuple(each for each in terms if each[0] not in inner)
        inside = tuple(each for each in terms if each[0] in inner)
        return IndexSum(outside, (), 0), IndexSum(inside, self.others, self.constant)

    def needs(self, inner: frozenset[str]) -> frozenset[str]:
        """Those of some variables that must have a value before the rest is linear."""
        return frozenset().union(*(names & inner for _, _, names in self.others))

    def at(self, env: Env) -> tuple[int, dict[str, int]]:
        """The sum of what is known, and the factors of variables that are not."""
        known, left = self.constant, dict[str, int]()
        for name, factor in self.linear_terms:
            value = env.get(name)
            if value is None:
                left[name] = factor
            else:
                known += factor * value
        for value_of, factor, _ in self.others:
            known += factor * value_of(env)
        return known, left
