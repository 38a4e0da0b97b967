"""Several numbers in one operand: what terms such as `uint16(b)` and `b >> 16 << 16` read of it."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.hw.alu_terms import BITS, Binary, Cast, Name, Number, Term, TermOp, evaluate, low_bits

OPERAND = "b"


class FieldError(Exception):
    """No operand has these fields. Caught within the compiler."""


def is_field(term: Term) -> bool:
    """Whether a term takes bits of the operand as they are: by casts, and shifts by numbers."""
    match term:
        case Name(name=name):
            return name == OPERAND
        case Cast(saturates=False, term=inner):
            return is_field(inner)
        case Binary(TermOp.SHR | TermOp.SHL, left, Number()):
            return is_field(left)
        case _:
            return False


def packed(fields: Sequence[tuple[Term, Sequence[int]]]) -> tuple[int, ...]:
    """The operand for each channel, whose fields are these numbers: one for all channels, or one
    for each.

    Raises
    ------
    FieldError
        No number of 32 bits has these fields in some channel.
    """
    count = max(len(numbers) for _, numbers in fields)
    spread = [(term, [*numbers] * (count if len(numbers) == 1 else 1)) for term, numbers in fields]
    found = []
    for channel in range(count):
        own = [(term, numbers[channel]) for term, numbers in spread]
        bits = 0
        for term, number in own:
            bits |= _placed(term, number)
        operand = low_bits(bits, BITS, signed=True)
        if any(evaluate(term, {OPERAND: operand}) != number for term, number in own):
            raise FieldError(f"no operand has the fields {own}")
        found.append(operand)
    return tuple(found)


def _placed(term: Term, number: int) -> int:
    """The bits of the operand that give a field a number; others are zeros."""
    match term:
        case Cast(width=width, term=inner):
            return _placed(inner, low_bits(number, width, signed=False))
        case Binary(TermOp.SHR, left, Number(amount)):
            return _placed(left, number << amount)
        case Binary(TermOp.SHL, left, Number(amount)):
            return _placed(left, number >> amount)
        case _:
            return low_bits(number, BITS, signed=False)


def kept_below(term: Term) -> int | None:
    """Of the operand without its low bits, `b >> k << k`, the number of these bits; None of any
    other term."""
    match term:
        case Binary(TermOp.SHL, Binary(TermOp.SHR, Name(name=name), Number(down)), Number(up)):
            return up if name == OPERAND and down == up else None
        case _:
            return None


def takes_multiples(term: Term, others: Sequence[Term], step: int) -> bool:
    """Whether a multiple of `step` that is added to the operand is added to the number of the field
    `term`, and to no other's: as long as the operand has 32 bits."""
    below = kept_below(term)
    return (
        below is not None
        and step % (1 << below) == 0
        and all(
            isinstance(other, Cast) and other.width <= below and isinstance(other.term, Name)
            for other in others
        )
    )
