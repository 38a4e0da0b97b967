"""What a machine's own ALU operations take, estimated from their terms: for each lane.

The counts by operator are those of adders, comparators, multiplexers and shifters of a width, as
Yosys maps them; sharing between operators and with the rest of a lane is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from tandem.hw.alu_terms import Binary, Cast, Name, Number, Term, TermOp
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_stages import (
    PRODUCT_BITS,
    Operator,
    StagedTerms,
    gate_operands,
    shifted_cast,
    stage_terms,
    sum_above,
)
from tandem.hw.operations import MAX_SHIFT

DSP_WIDTHS = (18, 25)
"""Widths of the factors of a multiplier block."""
_NAND2_OF_BIT = {TermOp.AND: 1.5, TermOp.OR: 1.5, TermOp.XOR: 2.5}
_ADDER_NAND2, _MUX_NAND2, _REGISTER_NAND2 = 9.0, 3.0, 7.0


@dataclass(frozen=True, slots=True)
class LaneGates:
    """Estimated resources in one lane: of an FPGA, and in NAND2."""

    lut: float = 0.0
    ff: int = 0
    dsp: int = 0
    nand2: float = 0.0


def lane_gates(config: HardwareConfig) -> LaneGates:
    """What the custom operations of a machine take in a lane; nothing without any."""
    if not config.alu_operations:
        return LaneGates()
    terms = stage_terms(config.custom_operations, config.alu_stages)
    lut = nand2 = 0.0
    dsp = 0
    for term in terms.stages:
        more = _of_operator(terms, term)
        lut, dsp, nand2 = lut + more.lut, dsp + more.dsp, nand2 + more.nand2
    ff = _registered_bits(terms, config.alu_stages)
    results = [_width(terms, term) for term in terms.results.values()]
    # A look-up table chooses among four: the results, an operand and the dot product.
    lut += max(results, default=0) * max(len(results) - 2, 0) / 3
    nand2 += _MUX_NAND2 * sum(results) + _REGISTER_NAND2 * ff
    return LaneGates(lut, ff, dsp, nand2)


def _of_operator(terms: StagedTerms, term: Operator) -> LaneGates:
    out = _width(terms, term)
    if isinstance(term, Cast):
        if not term.saturates:
            return LaneGates()
        value = _width(terms, gate_operands(term)[0])
        shifts = 0 if shifted_cast(term) is None else out + value
        return LaneGates(lut=value / 5 + out + 1.2 * shifts, nand2=3.0 * (value + out + 3 * shifts))
    operands = [_width(terms, part) for part in (term.left, term.right)]
    widest = max(operands)
    match term.op:
        case TermOp.ADD if _adds_blocks(term):
            # One block adds what the other one gives.
            return LaneGates(nand2=_ADDER_NAND2 * (out - PRODUCT_BITS))
        case TermOp.ADD | TermOp.SUB:
            return LaneGates(lut=out, nand2=_ADDER_NAND2 * out)
        case TermOp.MIN | TermOp.MAX:
            return LaneGates(lut=widest + out / 2, nand2=5.0 * widest + _MUX_NAND2 * out)
        case TermOp.SHR | TermOp.SHL if isinstance(term.right, Number):
            return LaneGates()
        case TermOp.SHR | TermOp.SHL:
            levels = min(MAX_SHIFT.bit_length(), operands[1])
            return LaneGates(lut=0.6 * levels * out, nand2=levels * _MUX_NAND2 * out)
        case TermOp.MUL:
            small, large = sorted(operands)
            blocks = -(-small // (DSP_WIDTHS[0] - 1)) * -(-large // (DSP_WIDTHS[1] - 1))
            nand2 = (_ADDER_NAND2 + 1.5) * small * large
            # Two blocks add up within themselves.
            return LaneGates(lut=out * max(blocks - 2, 0) / 4, dsp=blocks, nand2=nand2)
        case _:
            return LaneGates(lut=out / 2, nand2=_NAND2_OF_BIT[term.op] * out)


def _adds_blocks(term: Binary) -> bool:
    """Whether a sum is that of the two blocks of a product."""
    match sum_above(term):
        case (Binary(TermOp.MUL), bits, Binary(TermOp.MUL)):
            return bits == PRODUCT_BITS
        case _:
            return False


def _registered_bits(terms: StagedTerms, stages: int) -> int:
    """Bits of the registers between stages: of each value up to the last stage that uses it.
    Multiplier blocks have the first ones of products."""
    last: dict[Term, int] = {term: stages for term in terms.results.values()}
    for term, stage in terms.stages.items():
        for part in gate_operands(term):
            last[part] = max(stage, last.get(part, 1))
    bits = 0
    for value, until in last.items():
        match value:
            case Number():
                continue
            case Name(name=name):
                since = until if name in terms.parameters else 1
            case _:
                since = terms.stages[value]
        if isinstance(value, Binary) and value.op is TermOp.MUL:
            since = min(since + 1, until)
        bits += _width(terms, value) * (until - since)
    return bits


def _width(terms: StagedTerms, term: Term) -> int:
    return terms.width_of(term)
