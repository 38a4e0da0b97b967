"""Operations of the language on affine sums: arithmetic, and comparisons in one canonical form.

Operations on exact sums (`Divisions.exact`) give exact sums. A result that depends on data and may
overflow stays an atom.
"""

from __future__ import annotations

from math import gcd

from tandem.compiler.ir.arithmetic import binary_function, unary_function
from tandem.compiler.ir.divisions import DivisionSimplifier, match_division, steps
from tandem.compiler.ir.dtypes import BOOL, INDEX
from tandem.compiler.ir.expr import (
    Binary,
    Const,
    Expr,
    Unary,
)
from tandem.compiler.ir.interval import depends_on_data
from tandem.compiler.ir.linear import Linear, term_order
from tandem.compiler.ir.operations import (
    BinaryOp,
    UnaryOp,
)
from tandem.compiler.ir.ops import fold_operands


def unary_sum(op: UnaryOp, value: Linear, sums: DivisionSimplifier) -> Linear:
    """Return `op` of an exact sum."""
    if not value.terms:
        return Linear((), unary_function(op, INDEX)(value.constant))
    found = sums.interval(value)
    match op:
        case UnaryOp.NEG:
            result = value.times(-1)
        case UnaryOp.NOT:
            result = value.times(-1).shifted(-1)
        case _ if found.low is not None and found.low >= 0:
            result = value
        case _ if found.high is not None and found.high <= 0:
            result = value.times(-1)
        case _:
            return sums.atom(Unary(op, value.expr()))
    return result if sums.exact(result) else Linear.atom(Unary(op, value.expr()))


def binary_sum(op: BinaryOp, left: Linear, right: Linear, sums: DivisionSimplifier) -> Linear:
    """Return `op` of two exact sums."""
    if not left.terms and not right.terms:
        return Linear((), binary_function(op, INDEX)(left.constant, right.constant))
    match op:
        case BinaryOp.MIN | BinaryOp.MAX:
            return _extreme(op, left, right, sums)
        case BinaryOp.MUL if left.terms and right.terms:
            return _product(left, right, sums)
    result = _affine(op, left, right, sums)
    if result is not None and sums.exact(result):
        return sums.merge_remainders(result)
    return sums.atom(Binary(op, left.expr(), right.expr()))


def _affine(op: BinaryOp, left: Linear, right: Linear, sums: DivisionSimplifier) -> Linear | None:
    """The result as a sum that may not be exact; None if the result is not affine."""
    number = None if right.terms else right.constant
    match op:
        case BinaryOp.ADD:
            return left + right
        case BinaryOp.SUB:
            return left - right
        case BinaryOp.MUL:
            return right.times(left.constant) if number is None else left.times(number)
        case BinaryOp.FLOORDIV | BinaryOp.MOD if number is not None:
            return _division(op, left, number, sums)
        case BinaryOp.FLOORDIV | BinaryOp.MOD if not left.terms and left.constant == 0:
            return left
        case BinaryOp.SHL if number is not None:
            return left.times(1 << number if 0 <= number < INDEX.bits else 0)
        case BinaryOp.SHR if number is not None and 0 <= number < INDEX.bits - 1:
            return sums.quotient(left, 1 << number)
        case BinaryOp.OR | BinaryOp.XOR if number == 0:
            return left
        case BinaryOp.AND if number == 0:
            return right
        case _:
            return None


def _division(op: BinaryOp, left: Linear, divisor: int, sums: DivisionSimplifier) -> Linear | None:
    if divisor == 0:
        return Linear(())
    if divisor < 0:
        # With both signs changed, the quotient is the same and the remainder has the other sign.
        flipped = left.times(-1)
        if not sums.exact(flipped) or divisor == INDEX.low:
            return None
        found = _division(op, flipped, -divisor, sums)
        return found.times(-1) if found is not None and op is BinaryOp.MOD else found
    return (sums.quotient if op is BinaryOp.FLOORDIV else sums.remainder)(left, divisor)


def _product(left: Linear, right: Linear, sums: DivisionSimplifier) -> Linear:
    """The product of two sums, neither of which is a constant."""
    written = Binary(BinaryOp.MUL, left.expr(), right.expr())
    if depends_on_data(written):
        return sums.atom(written)
    factor, parts = 1, list[Expr]()
    for value in (left, right):
        common = gcd(value.divisor, value.constant) * (1 if value.terms[0][1] > 0 else -1)
        factor *= common
        terms = {atom: times // common for atom, times in value.terms}
        parts += flatten_operands(BinaryOp.MUL, Linear.of(terms, value.constant // common).expr())
    return sums.atom(_in_order(BinaryOp.MUL, parts)).times(factor)


def _extreme(op: BinaryOp, left: Linear, right: Linear, sums: DivisionSimplifier) -> Linear:
    """The minimum or maximum of two sums, without operands that are never the result."""
    kept: list[Linear] = []
    for value in (*_choices(op, left, sums), *_choices(op, right, sums)):
        if not any(_decided(op, other, value, sums) for other in kept):
            kept = [other for other in kept if not _decided(op, value, other, sums)] + [value]
    if len(kept) == 1:
        return kept[0]
    return sums.atom(_in_order(op, [each.expr() for each in kept]))


def _choices(op: BinaryOp, value: Linear, sums: DivisionSimplifier) -> list[Linear]:
    if len(value.terms) != 1 or value.terms[0][1] != 1 or value.constant:
        return [value]
    parts = flatten_operands(op, value.terms[0][0])
    return [value] if len(parts) == 1 else [sums.of(each) for each in parts]


def _decided(op: BinaryOp, one: Linear, other: Linear, sums: DivisionSimplifier) -> bool:
    """Whether the minimum or maximum of two sums is always `one`."""
    found = sums.interval(one - other)
    end = found.high if op is BinaryOp.MIN else found.low
    return end is not None and (end <= 0 if op is BinaryOp.MIN else end >= 0)


def flatten_operands(op: BinaryOp, expr: Expr) -> list[Expr]:
    """The operands of nested `op`, from left to right; the expression itself if it is not `op`."""
    match expr:
        case Binary(op=found, left=left, right=right) if found is op:
            return [*flatten_operands(op, left), *flatten_operands(op, right)]
        case _:
            return [expr]


def _in_order(op: BinaryOp, parts: list[Expr]) -> Expr:
    """Return `op` of all parts in a canonical order, numbers last."""
    return fold_operands(
        op, sorted(parts, key=lambda part: (isinstance(part, Const), term_order((part, 1))))
    )


_OPPOSITE = {
    BinaryOp.EQ: BinaryOp.NE,
    BinaryOp.NE: BinaryOp.EQ,
    BinaryOp.LT: BinaryOp.LE,
    BinaryOp.LE: BinaryOp.LT,
    BinaryOp.AND: BinaryOp.OR,
    BinaryOp.OR: BinaryOp.AND,
}
"""The negated operation; of LT and LE, with the sides exchanged."""


def compared(op: BinaryOp, left: Linear, right: Linear, sums: DivisionSimplifier) -> Expr:
    """Return the comparison `left op right` of exact sums, decided if intervals allow it."""
    difference = left - right
    ordered = op in (BinaryOp.LT, BinaryOp.LE)
    if ordered:
        found = _negative(difference if op is BinaryOp.LT else difference.shifted(-1), sums)
    else:
        found = _zero(difference, sums)
    if isinstance(found, bool):
        return Const(found != (op is BinaryOp.NE), BOOL)
    if any(depends_on_data(atom) for atom, _ in difference.terms):
        # Terms moved to the other side could overflow there.
        return Binary(op, left.expr(), right.expr())
    return _less(found) if ordered else _equal(op, found)


def negated(condition: Expr) -> Expr | None:
    """Return the negation of a condition without NOT in it; None if there is no such form."""
    match condition:
        case Const(value=value):
            return Const(not value, BOOL)
        case Unary(op=UnaryOp.NOT, operand=operand):
            return operand
        case Binary(op=op, left=left, right=right) if op.compares and not left.dtype.is_float:
            # Comparisons of floats have no opposite: a NaN makes both false.
            if op in (BinaryOp.LT, BinaryOp.LE):
                return Binary(_OPPOSITE[op], right, left)
            return Binary(_OPPOSITE[op], left, right)
        case Binary(op=BinaryOp.AND | BinaryOp.OR as op, left=left, right=right):
            a, b = negated(left), negated(right)
            if a is None or b is None:
                return None
            return Binary(_OPPOSITE[op], a, b)
        case _:
            return None


def _negative(value: Linear, sums: DivisionSimplifier) -> Linear | bool:
    """Whether a sum is below 0, if decided; else the simplest sum with the same cases below 0.

    If `b // g` is always `k`, then `g * a + b < 0` is equivalent to `a + k < 0`; and
    `x // c + k < 0` to `x + k * c < 0`.
    """
    while True:
        found = sums.interval(value)
        if found.high is not None and found.high < 0:
            return True
        if found.low is not None and found.low >= 0:
            return False
        if (split := sums.split_coarse(value, 0)) is not None:
            value = split[1]
            continue
        under = _undivided(value)
        if under is None or not sums.exact(under):
            return value
        value = under


def _undivided(value: Linear) -> Linear | None:
    if len(value.terms) != 1 or abs(value.terms[0][1]) != 1:
        return None
    atom, sign = value.terms[0]
    inner = match_division(atom, BinaryOp.FLOORDIV)
    if inner is None:
        return None
    if sign > 0:
        return inner[0].shifted(value.constant * inner[1])
    # k < x // c where (k + 1) * c - 1 < x.
    return inner[0].times(-1).shifted((value.constant + 1) * inner[1] - 1)


def _zero(value: Linear, sums: DivisionSimplifier) -> Linear | bool:
    """Whether a sum is 0, if decided; else the simplest sum that is 0 in the same cases."""
    if not value.terms:
        return value.constant == 0
    if 0 not in sums.interval(value):
        return False
    for step in steps(value, 0):
        ends = sums.interval(value.split(step)[1]).bounds
        if ends is not None and ends[1] // step * step < ends[0]:
            return False
    common = value.divisor
    return Linear(value.split(common)[0].terms, value.constant // common)


def _less(value: Linear) -> Expr:
    """`value < 0`, with subtracted terms moved to the right side."""
    gains, losses = _sides(value)
    excess = -value.constant
    if not losses.terms:
        return Binary(BinaryOp.LT, gains.expr(), Const(excess))
    if not gains.terms:
        return Binary(BinaryOp.LE, Const(1 - excess), losses.expr())
    if excess == 1:
        return Binary(BinaryOp.LE, gains.expr(), losses.expr())
    if excess < 0:
        return Binary(BinaryOp.LT, gains.shifted(-excess).expr(), losses.expr())
    return Binary(BinaryOp.LT, gains.expr(), losses.shifted(excess).expr())


def _equal(op: BinaryOp, value: Linear) -> Expr:
    """`value op 0`, for EQ and NE, with subtracted terms moved to the right side."""
    gains, losses = _sides(value)
    if not gains.terms or (
        losses.terms and term_order(losses.terms[0]) < term_order(gains.terms[0])
    ):
        gains, losses, value = losses, gains, value.times(-1)
    if not losses.terms or value.constant < 0:
        return Binary(op, gains.expr(), losses.shifted(-value.constant).expr())
    return Binary(op, gains.shifted(value.constant).expr(), losses.expr())


def _sides(value: Linear) -> tuple[Linear, Linear]:
    gains = tuple(term for term in value.terms if term[1] > 0)
    losses = tuple((atom, -factor) for atom, factor in value.terms if factor < 0)
    return Linear(gains), Linear(losses)
