"""Requantisations whose product is computed in full, and loses low bits that change nothing.

A channel is (x * M + C + k * N) >> s. Where the low c bits of C and N are zeros, it is

    ((x * M >> c) + (C >> c) + k * (N >> c)) >> (s - c)

as flooring twice is flooring once. The product has more than 32 bits; what is left of it has not,
so that no x needs to be clipped before. Operations of a machine that compute `a * b >> c` do it in
one pass. Multiplying M, C, N and 2^s by a power of two changes nothing either, and makes low bits
zeros: what M's operand and the shift allow is tried.

`a * uint16(b) + (b >> 16 << 16) >> c` adds C before the cut, from the operand that has M too, where
C has sixteen bits and as many zeros behind them: then a residual is what a clip adds, or, where N
has as many zeros too, is added to that operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainStep,
    Residual,
    Values,
)
from tandem.compiler.machines.accelerator.templates.packed_fields import kept_below
from tandem.compiler.requantisation import RequantSpec, ShortFactors
from tandem.hw.alu_terms import Binary, Cast, Number, Term, TermOp, names_of, subterms
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.operations import MAX_SHIFT, AluOp


@dataclass(frozen=True, slots=True)
class _Cut:
    """A product of an operation that loses its low bits, with what it is multiplied by, and what is
    added before the cut, if anything is."""

    bits: int
    factor: Term
    added: Term | None = None


def _cuts(operations: Sequence[CustomOperation]) -> Iterator[_Cut]:
    for operation in operations:
        for part in subterms(operation.result):
            match part:
                case Binary(TermOp.SHR, Binary(TermOp.MUL, left, right), Number(bits)):
                    yield _Cut(bits, right if "a" in names_of(left) else left)
                case Binary(
                    TermOp.SHR,
                    Binary(TermOp.ADD, Binary(TermOp.MUL, left, right), added)
                    | Binary(TermOp.ADD, added, Binary(TermOp.MUL, left, right)),
                    Number(bits),
                ):
                    yield _Cut(bits, right if "a" in names_of(left) else left, added)
                case _:
                    pass


def cuts_of(operations: Sequence[CustomOperation]) -> tuple[int, ...]:
    """The numbers of low bits that operations cut off a product with an operand, ascending."""
    return tuple(sorted({cut.bits for cut in _cuts(operations)}))


def short_factors(operations: Sequence[CustomOperation]) -> ShortFactors:
    """What integers of requantisations have to be so that these operations compute them."""
    found = [*_cuts(operations)]
    widths = [cut.factor.width - cut.factor.signed for cut in found if isinstance(cut.factor, Cast)]
    added = [
        cut.added.right.value
        for cut in found
        if isinstance(cut.added, Binary) and cut.added.op is TermOp.SHL
        if isinstance(cut.added.right, Number)
    ]
    whole = [bits for cut in found if cut.added is not None if (bits := kept_below(cut.added))]
    return ShortFactors(
        min(widths, default=None),
        max((cut.bits for cut in found), default=0),
        max(added, default=0),
        min(whole, default=0),
    )


def cut_chains(
    spec: RequantSpec, operations: Sequence[CustomOperation]
) -> Iterator[tuple[ChainStep, ...]]:
    """The steps that compute `spec` exactly with a product that is cut, for each number of bits
    that an operation cuts and each power of two. The residual is added before or after C."""
    for cut in cuts_of(operations):
        for shift in range(max(cut, spec.largest_shift), cut + MAX_SHIFT + 1):
            yield from _chains(spec, cut, shift)


def _chains(spec: RequantSpec, cut: int, shift: int) -> Iterator[tuple[ChainStep, ...]]:
    """The chains with that shift of all channels before the cut; none if they are not exact."""
    scales = [shift - channel.shift for channel in spec.per_channel]
    pairs = tuple(zip(spec.per_channel, scales, strict=True))
    multipliers = tuple(channel.multiplier << scale for channel, scale in pairs)
    addends = tuple(channel.addend << scale for channel, scale in pairs)
    factors = [residual.multiplier << scales[0] for residual in spec.residuals]
    if factors and len({*scales}) > 1:
        return
    if any(number % (1 << cut) for number in (*addends, *factors)):
        return
    scaled = tuple(zip(spec.residuals, factors, strict=True))
    added = (
        sum(residual.low * factor >> cut for residual, factor in scaled),
        sum(residual.high * factor >> cut for residual, factor in scaled),
    )
    first, last = spec.limits
    products = [(first * m >> cut, last * m >> cut) for m in multipliers]
    sums = [
        (low + (addend >> cut) + added[0], high + (addend >> cut) + added[1])
        for (low, high), addend in zip(products, addends, strict=True)
    ]
    if not _all_fit([*multipliers, *(value for pair in (*products, *sums) for value in pair)]):
        return
    left = shift - cut
    least = min(low for low, _ in sums) >> left
    greatest = max(high for _, high in sums) >> left
    multiply = ChainStep(
        AluOp.MUL, Values(multipliers), all(m == 1 << cut for m in multipliers), cut
    )
    biases = tuple(addend >> cut for addend in addends)
    add = ChainStep(AluOp.ADD, Values(biases), not any(biases))
    residuals = tuple(
        ChainStep(AluOp.ADD, Residual(factor >> cut, residual.low, residual.high))
        for residual, factor in scaled
    )
    ends = (
        ChainStep(AluOp.SHR, Values((left,)), left == 0),
        ChainStep(AluOp.MAX, Values((spec.low,)), spec.low <= least),
        ChainStep(AluOp.MIN, Values((spec.high,)), greatest <= spec.high),
    )
    yield (multiply, *residuals, add, *ends)
    if residuals:
        yield (multiply, add, *residuals, *ends)


def _all_fit(numbers: Sequence[int]) -> bool:
    return all(INT32.low <= number <= INT32.high for number in numbers)
