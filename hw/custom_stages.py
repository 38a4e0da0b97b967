"""In which stage each term of a machine's custom operations is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tandem.hw.alu_terms import (
    Binary,
    Cast,
    Name,
    Number,
    Term,
    TermOp,
    fold,
    interval,
    operands_of,
    signed_bits,
)
from tandem.hw.custom_operations import OPERAND_RANGE, AluParameter, CustomOperation

Operator = Binary | Cast
PRODUCT_BITS = 17
"""Bits without a sign that the factors of multiplier blocks of ECP5 and of Xilinx' 7 series have,
and by how many a block of the latter shifts the sum that the block before it gives."""
_USUAL_DELAY = 4
"""The delay of an adder or a shifter: the unit is that of `_DELAYS`."""
_DELAYS = {
    TermOp.MUL: 7,
    TermOp.MIN: 5,
    TermOp.MAX: 5,
    TermOp.AND: 1,
    TermOp.OR: 1,
    TermOp.XOR: 1,
}


@dataclass(frozen=True)
class ParameterBits:
    """A parameter, and its lowest bit in the immediate."""

    lowest: int
    parameter: AluParameter


@dataclass(frozen=True)
class StagedTerms:
    """The terms of all operations of a machine; equal ones of several operations are one.

    Attributes
    ----------
    results
        By opcode, the term of the operation's result.
    parameters
        By the names in these terms, the parameters that they mean.
    stages
        Of each operator, the stage from 1 on in which its gates are. Operands, parameters and
        constants are there in all stages.
    """

    results: Mapping[int, Term]
    parameters: Mapping[str, ParameterBits]
    stages: Mapping[Operator, int]

    def range_of(self, term: Term) -> tuple[int, int]:
        """Values between which a term lies."""
        bits = {name: each.parameter.limits for name, each in self.parameters.items()}
        return interval(term, {"a": OPERAND_RANGE, "b": OPERAND_RANGE, **bits})

    def width_of(self, term: Term) -> int:
        """Bits of the two's complement of a term's values."""
        return signed_bits(*self.range_of(term))

    @property
    def slowest(self) -> int:
        """The delay of the gates in the slowest stage, in the unit of `_DELAYS`."""
        return max(_arrivals(self.stages).values(), default=0)


def stage_terms(operations: Mapping[int, CustomOperation], stages: int) -> StagedTerms:
    """The terms of `operations` in that many stages, the slowest of which is as fast as can be."""
    parameters: dict[str, ParameterBits] = {}
    results = {number: _shared(one, parameters) for number, one in operations.items()}
    named = StagedTerms(results, parameters, {})
    results = {number: _narrowed(term, named) for number, term in results.items()}
    if stages > 1:
        results = {number: _in_blocks(term, named) for number, term in results.items()}
    order = [
        part for term in results.values() for part in _gates(term) if isinstance(part, Operator)
    ]
    limit = max(map(_delay, order), default=0)
    while True:
        found = _within(order, limit)
        if max(found.values(), default=1) <= stages:
            return StagedTerms(results, parameters, found)
        limit += 1


def _shared(operation: CustomOperation, parameters: dict[str, ParameterBits]) -> Term:
    """The operation's term with parameters named by their bits; adds these to `parameters`."""
    names: dict[str, str] = {}
    lowest = 0
    for parameter in operation.parameters:
        name = f"{parameter.type_text}_{lowest}"
        names[parameter.name] = name
        parameters[name] = ParameterBits(lowest, parameter)
        lowest += parameter.width

    def named(name: str) -> Term:
        return Name(names.get(name, name))

    def cast(cast: Cast, term: Term) -> Term:
        return replace(cast, term=term)

    return fold(operation.result, named, Number, Binary, cast)


def shifted_cast(term: Term) -> Binary | None:
    """The shift by a parameter whose result a term saturates: gates of both together are fewer."""
    match term:
        case Cast(saturates=True, signed=True, term=Binary(op=TermOp.SHR, right=Name()) as shift):
            return shift
        case _:
            return None


def sum_above(term: Term) -> tuple[Term, int, Term] | None:
    """Of `(above << bits) + below`: these three. Nothing is added to the low bits of `below`."""
    match term:
        case Binary(TermOp.ADD, Binary(TermOp.SHL, above, Number(bits)), below):
            return above, bits, below
        case _:
            return None


def gate_operands(term: Term) -> tuple[Term, ...]:
    """The terms that a term's gates take."""
    parts = sum_above(term)
    if parts is not None:
        return parts[0], parts[2]
    shift = shifted_cast(term)
    return operands_of(term if shift is None else shift)


def _gates(term: Term) -> Iterator[Term]:
    """The terms that have gates, operands before what uses them."""
    for part in gate_operands(term):
        yield from _gates(part)
    yield term


def _narrowed(term: Term, named: StagedTerms) -> Term:
    """An equal term in which what is clipped to limits of few bits saturates first: all that
    follows is that narrow."""

    def binary(op: TermOp, left: Term, right: Term) -> Term:
        if op is TermOp.MIN and isinstance(left, Binary) and left.op is TermOp.MAX:
            width = max(map(named.width_of, (left.right, right)))
            if named.width_of(left.left) > width + 1:
                clipped = Cast(width, True, left.left, saturates=True)
                left = Binary(TermOp.MAX, clipped, left.right)
        if op in (TermOp.MIN, TermOp.MAX):
            return _extreme(op, left, right, named)
        return Binary(op, left, right)

    return fold(term, Name, Number, binary, lambda cast, term: replace(cast, term=term))


def _in_blocks(term: Term, named: StagedTerms) -> Term:
    """An equal term whose products have factors that a multiplier block takes: a stage can end
    between the blocks, which have registers of their own, and their sum."""

    def binary(op: TermOp, left: Term, right: Term) -> Term:
        return _product(left, right, named) if op is TermOp.MUL else Binary(op, left, right)

    return fold(term, Name, Number, binary, lambda cast, term: replace(cast, term=term))


def _product(left: Term, right: Term, named: StagedTerms) -> Term:
    for wide, other in ((left, right), (right, left)):
        if named.width_of(wide) > PRODUCT_BITS + 1:
            high = Binary(TermOp.SHR, wide, Number(PRODUCT_BITS))
            low = Cast(PRODUCT_BITS, False, wide)
            above = Binary(TermOp.SHL, _product(high, other, named), Number(PRODUCT_BITS))
            return Binary(TermOp.ADD, above, _product(low, other, named))
    return Binary(TermOp.MUL, left, right)


def _extreme(op: TermOp, left: Term, right: Term, named: StagedTerms) -> Term:
    """The lesser or the greater of two terms: one of them, where the other never is."""
    ordered = (left, right) if op is TermOp.MIN else (right, left)
    for lesser, greater in (ordered, ordered[::-1]):
        if named.range_of(lesser)[1] <= named.range_of(greater)[0]:
            return lesser if op is TermOp.MIN else greater
    return Binary(op, left, right)


def _within(order: list[Operator], limit: int) -> dict[Operator, int]:
    """The earliest stage of each operator, if no stage may be slower than `limit`."""
    found: dict[Operator, int] = {}
    for term in order:
        stage = max((found[part] for part in _operators(term, found)), default=1)
        found[term] = stage
        if _arrivals(found)[term] > limit:
            found[term] = stage + 1
    return found


def _arrivals(stages: Mapping[Operator, int]) -> dict[Operator, int]:
    """When each operator's result is there, from the beginning of its stage on."""
    found: dict[Operator, int] = {}
    for term, stage in stages.items():
        ahead = (found[part] for part in _operators(term, stages) if stages[part] == stage)
        found[term] = max(ahead, default=0) + _delay(term)
    return found


def _operators(term: Operator, known: Mapping[Operator, int]) -> list[Operator]:
    """The operands that are operators themselves."""
    return [part for part in gate_operands(term) if isinstance(part, Operator) and part in known]


def _delay(term: Operator) -> int:
    if isinstance(term, Cast):
        return _USUAL_DELAY if term.saturates else 0
    if term.op.shifts and isinstance(term.right, Number):
        return 0
    return _DELAYS.get(term.op, _USUAL_DELAY)
