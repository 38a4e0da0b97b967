"""Bits of a number from a place on, and whether the number fits them: how values saturate."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Mux, Value

EIGHT = 8


def shifted_bits(total: Value, shift: Value, bits: int) -> Value:
    """The signed number that `bits` bits of `total` are from bit `shift`, of five bits, on."""
    eights, rest = shift[3:], shift[:3]
    found = _of_eights(total, 0, bits + EIGHT - 1, eights) >> rest
    return found[:bits].as_signed()


def overflows(total: Value, shift: Value, bits: int) -> Value:
    """Whether `total >> shift` is no signed number of `bits` bits: a bit above is not its sign.

    Most of these bits are compared in groups of eight, of which those above the shift's multiple of
    eight count; what is left of the shift selects among the eight bits above.
    """
    eights, rest = shift[3:], shift[:3]

    def differ(part: Value) -> Value:
        return part ^ Mux(total[-1], Const((1 << len(part)) - 1), Const(0, len(part)))

    groups = 1 << len(eights)
    far = []
    for group in range(groups):
        first = bits + EIGHT - 1 + EIGHT * group
        last = first + EIGHT if group < groups - 1 else len(total) - 1
        if first < min(last, len(total) - 1):
            far.append(differ(total[first:last]).any() & (eights <= group))
    above = differ(_of_eights(total, bits - 1, EIGHT, eights)) >> rest
    return above.any() | reduce(or_, far) if far else above.any()


def saturated(value: Value, bits: int) -> Value:
    """The signed number of `bits` bits that is nearest to `value`, which has more."""
    beyond = (value[bits - 1 : -1] ^ value[-1].replicate(len(value) - bits)).any()
    return nearest(value[:bits].as_signed(), beyond, value[-1], bits)


def nearest(low: Value, beyond: Value, negative: Value, bits: int) -> Value:
    """`low`, or where the value is beyond `bits` bits their least or greatest number."""
    greatest = (1 << bits - 1) - 1
    end = Cat(negative.replicate(bits - 1) ^ greatest, negative).as_signed()
    return Mux(beyond, end, low)


def _of_eights(total: Value, first: int, count: int, eights: Value) -> Value:
    """`count` bits of `total`, from bit `first + 8 * eights` on; its sign is above its bits."""
    missing = first + 3 * EIGHT + count - len(total)
    if missing > 0:
        total = Cat(total, total[-1].replicate(missing))
    choices = [total[start : start + count] for start in range(first, first + 4 * EIGHT, EIGHT)]
    low = Mux(eights[0], choices[1], choices[0])
    high = Mux(eights[0], choices[3], choices[2])
    return Mux(eights[1], high, low)
