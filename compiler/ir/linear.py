"""Sums: index expressions as integer multiples of atoms, plus a constant.

An atom is whatever is no sum itself: a variable, an element of an array, a division, a minimum.
Equal sums of equal atoms are equal values, so that `i + 1 + i` and `2 * i + 1` are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import assert_never

from compiler.errors import IRError
from compiler.ir.dtypes import INDEX
from compiler.ir.expr import Binary, BinaryOp, Cast, Const, Expr, Load, Select, Unary, UnaryOp, Var

__all__ = ["Linear", "linear", "order"]


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum of `factor * atom` over `terms`, plus `constant`.

    Attributes
    ----------
    terms
        Each atom once, no factor 0, in one order: from the greatest factor to the least, negative
        ones last (again from the greatest magnitude), and by name where factors are equal.
    """

    terms: tuple[tuple[Expr, int], ...]
    constant: int = 0

    @staticmethod
    def of(factors: Mapping[Expr, int], constant: int = 0) -> Linear:
        """A sum from the factor of each atom, in any order; factors may be 0."""
        terms = [each for each in factors.items() if each[1]]
        if len(terms) > 1:
            terms.sort(key=order)
        return Linear(tuple(terms), constant)

    @staticmethod
    def atom(expr: Expr) -> Linear:
        """One term: `expr` as it is."""
        return Linear(((expr, 1),), 0)

    def __add__(self, other: Linear) -> Linear:
        return self.plus(other, 1)

    def __sub__(self, other: Linear) -> Linear:
        return self.plus(other, -1)

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """With `factor` times another sum."""
        constant = self.constant + factor * other.constant
        if not other.terms or not factor:
            return Linear(self.terms, constant)
        factors = dict(self.terms)
        for atom, each in other.terms:
            factors[atom] = factors.get(atom, 0) + factor * each
        return Linear.of(factors, constant)

    def shifted(self, amount: int) -> Linear:
        """With a number added."""
        return Linear(self.terms, self.constant + amount)

    def times(self, factor: int) -> Linear:
        """A multiple."""
        if factor > 0:
            terms = tuple((atom, factor * each) for atom, each in self.terms)
            return Linear(terms, factor * self.constant)
        factors = {atom: factor * each for atom, each in self.terms}
        return Linear.of(factors, factor * self.constant)

    def split(self, divisor: int) -> tuple[Linear, Linear]:
        """The terms whose factors `divisor` divides, divided by it, and the rest with the
        constant: the sum is `divisor` times the first, plus the second."""
        even = tuple((atom, each // divisor) for atom, each in self.terms if not each % divisor)
        odd = tuple(term for term in self.terms if term[1] % divisor)
        return Linear(even), Linear(odd, self.constant)

    @property
    def divisor(self) -> int:
        """The greatest that divides all factors; 0 if there are none."""
        return gcd(*(each for _, each in self.terms))

    def factor(self, atom: Expr) -> int:
        """The factor of an atom; 0 where it is no term."""
        return next((each for mine, each in self.terms if mine == atom), 0)

    def expr(self) -> Expr:
        """The sum as an expression: what is subtracted comes last, as in `4 * i + j - k - 1`."""
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
    """An index expression as a sum; equal to it where nothing overflows, and modulo 2**64 always.

    Atoms stay as they are written: simplify first, if equal ones may be written differently.

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
        case Var() | Load() | Cast() | Select():
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
    # A factor beyond the type can only come of factors that have overflowed already.
    return Const(INDEX.wrap(value))


def order(term: tuple[Expr, int]) -> tuple[bool, int, bool, str]:
    """The key that terms are sorted by."""
    atom, factor = term
    return factor < 0, -abs(factor), not isinstance(atom, Var), _text(atom)


def _text(expr: Expr) -> str:
    """A key to sort by: different for different expressions."""
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
        case Select(condition=condition, then=then, otherwise=otherwise):
            return f"select({_texts((condition, then, otherwise))})"
        case _:
            assert_never(expr)


def _texts(exprs: Iterable[Expr]) -> str:
    return ",".join(map(_text, exprs))
