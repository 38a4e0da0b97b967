"""Operations with shorter numbers, of which all pairs of operands can be tried."""

from __future__ import annotations

from dataclasses import replace

from tandem.hw.alu_terms import BITS, Binary, Cast, Name, Number, Term, signed_bits
from tandem.hw.custom_operations import AluParameter, CustomOperation

OPERAND_BITS = 8
_SHORTER = BITS // OPERAND_BITS


def in_eight_bits(operation: CustomOperation, divisor: int) -> CustomOperation:
    """The operation on operands of eight bits: casts to 32 bits become casts to eight, and shifts a
    quarter as far. Other casts, limits and parameters have `divisor` times fewer bits."""

    def fewer(width: int) -> int:
        return OPERAND_BITS if width == BITS else max(1, width // divisor)

    amounts = {
        part.right.name for part in _shifts(operation.result) if isinstance(part.right, Name)
    }

    def shorter(term: Term) -> Term:
        match term:
            case Name(name="a" | "b"):
                return Cast(OPERAND_BITS, True, term)
            case Name():
                return term
            case Number(value=value):
                # The greatest number of so many bits stays that.
                bits = fewer(signed_bits(value, value))
                return Number((1 << bits - 1) - 1 if value > 0 else -(1 << bits - 1))
            case Binary(op=op, left=left, right=Number(value=amount)) if op.shifts:
                return Binary(op, shorter(left), Number(amount // _SHORTER))
            case Binary(op=op, left=left, right=right):
                return Binary(op, shorter(left), shorter(right))
            case Cast():
                return replace(term, width=fewer(term.width), term=shorter(term.term))

    def parameter(one: AluParameter) -> AluParameter:
        if one.name in amounts:
            return replace(one, width=max(1, (one.limits[1] // _SHORTER).bit_length()))
        return replace(one, width=fewer(one.width))

    parameters = tuple(map(parameter, operation.parameters))
    return CustomOperation(operation.name, shorter(operation.result), parameters)


def _shifts(term: Term) -> list[Binary]:
    match term:
        case Binary():
            found = _shifts(term.left) + _shifts(term.right)
            return [term, *found] if term.op.shifts else found
        case Cast():
            return _shifts(term.term)
        case _:
            return []
