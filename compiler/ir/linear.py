"""Affine sums: index expressions as integer multiples of atoms, plus a constant.

An atom is an expression that is not a sum: a variable, a load, a division, a minimum.
Equal sums of equal atoms compare equal: `i + 1 + i` and `2 * i + 1` are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import assert_never

from tandem.compiler.errors import IRError
from tandem.compiler.ir.dtypes import INDEX
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
from tandem.compiler.ir.operations import (
    BinaryOp,
    UnaryOp,
)
from tandem.compiler.ir.syntax import BITS


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum of `factor * atom` over `terms`, plus `constant`.

    Attributes
    ----------
    terms
        Pairs of atom and factor: no atom twice, no factor 0, in a canonical order: positive factors
        first, then by descending magnitude, then by name.
    """

    terms: tuple[tuple[Expr, int], ...]
    constant: int = 0

    @staticmethod
    def of(factors: Mapping[Expr, int], constant: int = 0) -> Linear:
        """Return a sum from the factor of each atom, in any order; factors may be 0."""
        terms = [term for term in factors.items() if term[1]]
        if len(terms) > 1:
            terms.sort(key=term_order)
        return Linear(tuple(terms), constant)

    @staticmethod
    def atom(expr: Expr) -> Linear:
        """Return the sum of one term, `expr` itself."""
        return Linear(((expr, 1),), 0)

    def __add__(self, other: Linear) -> Linear:
        return self.plus(other, 1)

    def __sub__(self, other: Linear) -> Linear:
        return self.plus(other, -1)

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """Return this sum plus `factor` times another."""
        constant = self.constant + factor * other.constant
        if not other.terms or not factor:
            return Linear(self.terms, constant)
        factors = dict(self.terms)
        for atom, times in other.terms:
            factors[atom] = factors.get(atom, 0) + factor * times
        return Linear.of(factors, constant)

    def shifted(self, amount: int) -> Linear:
        """Return this sum plus a number."""
        return Linear(self.terms, self.constant + amount)

    def times(self, factor: int) -> Linear:
        """Return a multiple of this sum."""
        if factor > 0:
            terms = tuple((atom, factor * each) for atom, each in self.terms)
            return Linear(terms, factor * self.constant)
        factors = {atom: factor * each for atom, each in self.terms}
        return Linear.of(factors, factor * self.constant)

    def split(self, divisor: int) -> tuple[Linear, Linear]:
        """A quotient and a rest: the terms with factors that are multiples of `divisor`, divided
        by `divisor`; and the other terms with the constant."""
        even = tuple((atom, each // divisor) for atom, each in self.terms if not each % divisor)
        odd = tuple(term for term in self.terms if term[1] % divisor)
        return Linear(even), Linear(odd, self.constant)

    @property
    def divisor(self) -> int:
        """The greatest common divisor of the factors; 0 for a sum without terms."""
        return gcd(*(each for _, each in self.terms))

    def factor(self, atom: Expr) -> int:
        """The factor of an atom; 0 if the sum does not contain the atom."""
        return next((factor for other, factor in self.terms if other == atom), 0)

    def expr(self) -> Expr:
        """The sum as an expression: subtracted terms come last, as in `4 * i + j - k - 1`."""
        constant = self.constant
        result: Expr | None = None
        for atom, factor in self.terms:
            if factor < 0 and result is None and constant > 0:
                result, constant = Const(constant), 0
            if factor < 0 and result is not None:
                result = Binary(BinaryOp.SUB, result, _multiple(atom, -factor))
            elif result is None:
                result = _multiple(atom, factor)
            else:
                result = Binary(BinaryOp.ADD, result, _multiple(atom, factor))
        if result is None:
            return Const(INDEX.wrap(constant))
        if constant > 0:
            result = Binary(BinaryOp.ADD, result, _number(constant))
        elif constant < 0:
            result = Binary(BinaryOp.SUB, result, _number(-constant))
        return result


def linear(expr: Expr) -> Linear:
    """Return an index expression as an affine sum, equal modulo 2**64.

    Atoms are not simplified: simplify first, if equal atoms may be written differently.

    Raises
    ------
    IRError
        If the expression is not of the type INDEX.
    """
    if expr.dtype != INDEX:
        raise IRError(f"a sum is made of {INDEX}, not of {expr.dtype}")
    return _linear(expr)


def _linear(expr: Expr) -> Linear:
    match expr:
        case Var() | Load() | Cast() | Reinterpret() | Select():
            return Linear.atom(expr)
        case Const(value=value):
            return Linear((), int(value))
        case Unary(op=UnaryOp.NEG, operand=operand):
            return _linear(operand).times(-1)
        case Binary(op=BinaryOp.ADD, left=left, right=right):
            return _linear(left) + _linear(right)
        case Binary(op=BinaryOp.SUB, left=left, right=right):
            return _linear(left) - _linear(right)
        case Binary(op=BinaryOp.MUL, left=left, right=right):
            a, b = _linear(left), _linear(right)
            if not b.terms:
                return a.times(b.constant)
            return Linear.atom(expr) if a.terms else b.times(a.constant)
        case Binary() | Unary():
            return Linear.atom(expr)
        case _:
            assert_never(expr)


def _multiple(atom: Expr, factor: int) -> Expr:
    match factor:
        case 1:
            return atom
        case -1:
            return Unary(UnaryOp.NEG, atom)
        case _:
            return Binary(BinaryOp.MUL, atom, _number(factor))


def _number(value: int) -> Const:
    # A factor beyond the type can only result from factors that have overflowed already.
    return Const(INDEX.wrap(value))


def term_order(term: tuple[Expr, int]) -> tuple[bool, int, bool, str]:
    """The sort key of terms."""
    atom, factor = term
    return factor < 0, -abs(factor), not isinstance(atom, Var), _text(atom)


def _text(expr: Expr) -> str:
    """A sort key: different for different expressions."""
    match expr:
        case Var(name=name):
            return name
        case Const(value=value, dtype=dtype):
            return f"{value!r}:{dtype}"
        case Load(buffer=buffer, indices=indices):
            return f"{buffer.name}[{_texts(indices)}]"
        case Unary(op=op, operand=operand):
            return f"{op.value}({_text(operand)})"
        case Binary(op=op, left=left, right=right):
            return f"({_text(left)}{op.value}{_text(right)})"
        case Cast(operand=operand, dtype=dtype):
            return f"{dtype}({_text(operand)})"
        case Reinterpret(operand=operand, dtype=dtype):
            return f"{BITS}{dtype}({_text(operand)})"
        case Select(condition=condition, then=then, otherwise=otherwise):
            return f"select({_texts((condition, then, otherwise))})"
        case _:
            assert_never(expr)


def _texts(exprs: Iterable[Expr]) -> str:
    return ",".join(map(_text, exprs))
