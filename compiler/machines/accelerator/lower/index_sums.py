"""Index expressions as sums, evaluated for given values of some of their variables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.arithmetic import binary_function, unary_function
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, INDEX
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Reinterpret,
    Select,
    Unary,
    Var,
)
from tandem.compiler.ir.linear import Linear, linear
from tandem.compiler.ir.operations import (
    BinaryOp,
    UnaryOp,
)
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.visit import variables

Env: TypeAlias = Mapping[str, int]
"""Values of variables, by name."""

_Function: TypeAlias = Callable[[Env], int]

_BIT_OPS = (BinaryOp.XOR, BinaryOp.SHL, BinaryOp.SHR)


def function_of(expr: Expr) -> _Function:
    """A Python function that computes an index or a condition from the values of variables.

    Raises
    ------
    LoweringError
        For an expression that depends on data, as the machine has no branches, and for bit
        operations.
    """
    match expr:
        case Const(value=value):
            constant = int(value)
            return lambda env: constant
        case Var(name=name):
            return lambda env: env[name]
        case Binary(op=op, left=left, right=right) if op not in _BIT_OPS and left.dtype in (
            INDEX,
            BOOL,
        ):
            apply, a, b = binary_function(op, left.dtype), function_of(left), function_of(right)
            return lambda env: apply(a(env), b(env))
        case Unary(op=UnaryOp.NEG | UnaryOp.NOT as op, operand=operand):
            change, inner = unary_function(op, operand.dtype), function_of(operand)
            return lambda env: change(inner(env))
        case Select(condition=condition, then=then, otherwise=otherwise):
            test, yes, no = function_of(condition), function_of(then), function_of(otherwise)
            return lambda env: yes(env) if test(env) else no(env)
        case Load() | Cast() | Reinterpret() | Unary() | Binary():
            raise LoweringError(f"an index or condition cannot be {text(expr)}: it depends on data")


def values_of(names: Sequence[str]) -> Callable[[Env], Hashable]:
    """A function that returns the values of some variables as a hashable key."""
    return itemgetter(*names) if names else lambda env: ()


@dataclass(frozen=True, slots=True)
class IndexSum:
    """A `Linear` compiled for evaluation with an instruction's loop variables kept symbolic.

    Attributes
    ----------
    linear_terms
        Variables that the sum is linear in, with their factors.
    functions
        All other atoms as functions, with their factors and the variables that they read.
    """

    linear_terms: tuple[tuple[str, int], ...]
    functions: tuple[tuple[_Function, int, frozenset[str]], ...]
    constant: int

    @staticmethod
    def of(expr: Expr | Linear) -> IndexSum:
        """The sum of an index expression. Raises the errors of `function_of`."""
        total = expr if isinstance(expr, Linear) else linear(expr)
        terms = tuple((atom.name, factor) for atom, factor in total.terms if isinstance(atom, Var))
        functions = tuple(
            (function_of(atom), factor, variables(atom))
            for atom, factor in total.terms
            if not isinstance(atom, Var)
        )
        return IndexSum(terms, functions, total.constant)

    @staticmethod
    def of_address(buffer: Buffer, indices: Sequence[Expr]) -> IndexSum:
        """The row-major offset of an element in a buffer, in values."""
        total = Linear(())
        for index, stride in zip(indices, buffer.strides, strict=True):
            total = total.plus(linear(index), stride)
        return IndexSum.of(total)

    @property
    def names(self) -> frozenset[str]:
        """Every variable in the sum."""
        linear_in = frozenset(name for name, _ in self.linear_terms)
        return linear_in.union(*(names for _, _, names in self.functions))

    def split(self, inner: frozenset[str]) -> tuple[IndexSum, IndexSum]:
        """The sum of linear terms in variables outside `inner`, and the sum of all other terms."""
        terms = self.linear_terms
        outside = tuple(each for each in terms if each[0] not in inner)
        inside = tuple(each for each in terms if each[0] in inner)
        return IndexSum(outside, (), 0), IndexSum(inside, self.functions, self.constant)

    def nonlinear_in(self, inner: frozenset[str]) -> frozenset[str]:
        """The variables among `inner` that the sum is not linear in."""
        return frozenset().union(*(names & inner for _, _, names in self.functions))

    def at(self, env: Env) -> tuple[int, dict[str, int]]:
        """The value of the terms whose variables are in `env`, and the factors of the rest."""
        known, free = self.constant, dict[str, int]()
        for name, factor in self.linear_terms:
            value = env.get(name)
            if value is None:
                free[name] = factor
            else:
                known += factor * value
        for function, factor, _ in self.functions:
            known += factor * function(env)
        return known, free
