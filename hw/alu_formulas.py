"""Terms as formulas of bit-vectors, and proofs by z3 that two of them are equal.

Products are uninterpreted: one of equal factors is one number, of which only its limits are known,
and that zeros at the end of a factor, `x << 15`, are zeros at the end of the product.
What is proved so holds of any function in a multiplier's place. z3 does not end on multipliers
that two terms split differently; such a pair is not proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

import z3

from tandem.hw.alu_terms import (
    BITS,
    Binary,
    Cast,
    Name,
    Number,
    Term,
    TermOp,
    apply_operator,
    interval,
    names_of,
    signed_bits,
)
from tandem.hw.custom_operations import OPERAND_RANGE, WIDEST, AluParameter

_WIDTH = 2 * WIDEST
"""The bits of all numbers in formulas: no operator of a term leaves them."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What z3 says of an equation.

    Attributes
    ----------
    proved
        Whether it holds for all numbers.
    counterexample
        Numbers for which it does not hold, products uninterpreted; empty if there are none, and if
        z3 gave up.
    """

    proved: bool
    counterexample: Mapping[str, int]

    @property
    def text(self) -> str:
        """The verdict in words."""
        if self.proved:
            return "proved"
        if not self.counterexample:
            return "not decided"
        values = ", ".join(f"{name} = {value}" for name, value in self.counterexample.items())
        return f"wrong for {values}"


def prove_equal(
    left: Term, right: Term, parameters: Iterable[AluParameter], seconds: float = 60
) -> Verdict:
    """Whether the low 32 bits of two terms are equal for all operands `a` and `b`, of 32 bits, and
    all values of the parameters.

    Parameters
    ----------
    seconds
        After which z3 gives up.
    """
    ranges = {"a": OPERAND_RANGE, "b": OPERAND_RANGE}
    ranges |= {parameter.name: parameter.limits for parameter in parameters}
    formulas = _Formulas(ranges)
    differ = z3.Extract(BITS - 1, 0, formulas.of(left)) != z3.Extract(
        BITS - 1, 0, formulas.of(right)
    )
    solver = z3.SolverFor("QF_AUFBV")
    solver.set("timeout", round(1000 * seconds))
    solver.add(*formulas.known, differ)
    match solver.check():
        case z3.unsat:
            return Verdict(True, {})
        case z3.sat:
            model = solver.model()
            names = dict.fromkeys((*names_of(left), *names_of(right)))
            values = {
                name: model.eval(formulas.of_name(name), model_completion=True).as_signed_long()
                for name in names
            }
            return Verdict(False, values)
        case _:
            return Verdict(False, {})


class _Formulas:
    """Formulas of terms over the same names.

    Attributes
    ----------
    known
        What holds of names and products.
    """

    def __init__(self, ranges: Mapping[str, tuple[int, int]]) -> None:
        self._ranges = ranges
        self._product = z3.Function(
            "product", *(z3.BitVecSort(_WIDTH) for _ in ("left", "right", "result"))
        )
        self.known: list[z3.BoolRef] = []
        self._names: dict[str, z3.BitVecRef] = {}

    def of_name(self, name: str) -> z3.BitVecRef:
        """The number of a name: an operand, or a parameter."""
        if name not in self._names:
            low, high = self._ranges[name]
            bits = signed_bits(low, high)
            short = z3.BitVec(name, bits)
            if low != -(1 << bits - 1):
                self.known.append(z3.And(short >= low, short <= high))
            self._names[name] = z3.SignExt(_WIDTH - bits, short)
        return self._names[name]

    def of(self, term: Term) -> z3.BitVecRef:
        """The formula of a term's exact value."""
        match term:
            case Cast():
                return _cast(term, self.of(term.term))
            case Binary(TermOp.MUL, Binary(TermOp.SHL, left, Number(zeros)), right) | Binary(
                TermOp.MUL, left, Binary(TermOp.SHL, right, Number(zeros))
            ):
                return self.of(Binary(TermOp.MUL, left, right)) << zeros
            case Binary(op=TermOp.MUL):
                return self._multiplied(term, self.of(term.left), self.of(term.right))
            case Binary():
                left, right = self.of(term.left), self.of(term.right)
                return apply_operator(term.op, left, right, _least, _greatest)
            case Name():
                return self.of_name(term.name)
            case Number():
                return z3.BitVecVal(term.value, _WIDTH)
            case _:
                assert_never(term)

    def _multiplied(self, term: Term, left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BitVecRef:
        first, second = sorted(map(z3.simplify, (left, right)), key=z3.AstRef.sexpr)
        found = self._product(first, second)
        low, high = interval(term, self._ranges)
        self.known += [found >= low, found <= high]
        return found


def _cast(cast: Cast, value: z3.BitVecRef) -> z3.BitVecRef:
    if cast.saturates:
        low, high = (z3.BitVecVal(limit, _WIDTH) for limit in cast.limits)
        return z3.If(value < low, low, z3.If(value > high, high, value))
    bits = z3.Extract(cast.width - 1, 0, value)
    extend = z3.SignExt if cast.signed else z3.ZeroExt
    return extend(_WIDTH - cast.width, bits)


def _least(left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BitVecRef:
    return z3.If(left < right, left, right)


def _greatest(left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BitVecRef:
    return z3.If(left > right, left, right)
