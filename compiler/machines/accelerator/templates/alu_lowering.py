"""Lowers requantisation to ALU operations of the base instruction set, exactly in 32 bits.

A channel is the function f(x, k) = (x * M + C + k * N) >> s with M, N >= 0, and clip(f, low, high)
is wanted for every accumulator x of [first, last] and every residual k of [least, greatest]. (With
several residuals, k * N is a sum; plain requantisation has no residual.) All lowerings have one
form,

    x: MAX p, MIN q, MUL M, ADD C mod 2^32     k: MUL N     x + k: SHR s, MAX low, MIN high

with a window [p, q] for each channel, without operations that are identities. It is exact because:

- After MIN, x lies in [p, q]. f does not fall as x or k grows, so the sum lies between those of
  (p, least) and (q, greatest). Where these two fit 32 bits the sum does, and then it does not
  matter that MUL or ADD wrapped: both are right mod 2^32, and only one number of 32 bits is.
- An x in the window is unchanged. An x below p gives p's result; as clip(f) does not fall either,
  that is exact if p's result equals the result of `first` for every k. The same holds above q.

Candidate windows: the whole interval, if the sum fits 32 bits without clipping x, and the output
is clipped last; then, without residuals,

- the exact preimage of [low, high]: f(p) = low and f(q) = high if M <= 2^s, because f then skips no
  integer, so that no clipping is left; accumulators may have 24 bits and more, as the sum lies
  in [low * 2^s, (high + 1) * 2^s);
- the preimage and one more x on either side, for M > 2^s: f may skip `low` itself, the next x is
  beyond `low`, and the output is clipped again;

and with residuals, on which the preimage depends, the narrowest window: from the last x with the
result `low` for every k to the first with `high` for every k.

A channel with a constant result (M = 0; a preimage that is empty or out of range) becomes x = 0 and
a constant C. Of the exact windows, the lowering with the fewest operations is taken, then with the
fewest operands in ACC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

from tandem.compiler.errors import QuantisationError, Refusal
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainStep,
    Residual,
    Values,
)
from tandem.compiler.requantisation import RequantSpec
from tandem.compiler.requantisation.channels import INT16, broadcast, check_range
from tandem.compiler.requantisation.spec import Channel
from tandem.hw.operations import MAX_SHIFT, AluOp

_SHIFTS = (-MAX_SHIFT, MAX_SHIFT)


@dataclass(frozen=True, slots=True)
class AluOperation:
    """An ALU operation, ACC = op(ACC, operand), on every accumulator.

    Attributes
    ----------
    op
        The operation.
    operand
        A number: a signed 16-bit immediate. A tuple: int32 values in ACC, one for each channel, or
        one value for all channels that does not fit an immediate.

    Raises
    ------
    QuantisationError
        The operand is out of range for the instruction.
    """

    op: AluOp
    operand: int | tuple[int, ...]

    def __post_init__(self) -> None:
        low, high = (INT32.low, INT32.high) if isinstance(self.operand, tuple) else INT16
        if self.op is AluOp.SHR:
            low, high = _SHIFTS
        check_range(f"{self.op.name}: operand", self.operand, low, high)
        if self.operand == ():
            raise QuantisationError(f"{self.op.name}: an operand for no channel")

    @staticmethod
    def of(op: AluOp, values: Sequence[int]) -> AluOperation:
        """The operation with an int32 operand for each channel, in its cheapest form."""
        if any(value != values[0] for value in values):
            return AluOperation(op, tuple(values))
        low, high = INT16
        return AluOperation(op, values[0] if low <= values[0] <= high else (values[0],))


@dataclass(frozen=True, slots=True)
class AluRequantisation:
    """The ALU operations of a requantisation, first to last.

    Attributes
    ----------
    accumulator
        Operations on the accumulators.
    residuals
        Operations on each residual, before it is added to the accumulators.
    output
        Operations on the sum.
    """

    accumulator: tuple[AluOperation, ...]
    residuals: tuple[tuple[AluOperation, ...], ...]
    output: tuple[AluOperation, ...]

    @property
    def cost(self) -> tuple[int, int]:
        """The number of operations, and of operands in ACC without the residuals."""
        operations = [*self.accumulator, *chain(*self.residuals), *self.output]
        return len(operations), sum(isinstance(each.operand, tuple) for each in operations)


def lower_requantisation(spec: RequantSpec) -> AluRequantisation:
    """The fewest ALU operations that compute `spec` exactly in wrapping 32-bit arithmetic.

    Raises
    ------
    Refusal
        The sums exceed 32 bits, even with clipped accumulators.
    """
    found = (_operations(reduced, windows) for reduced, windows in _exact_windows(spec))
    best = min(found, key=lambda lowered: lowered.cost, default=None)
    if best is None:
        first, last = spec.limits
        residuals = "".join(f", N {each.multiplier}" for each in spec.residuals)
        raise Refusal(
            f"not exact in 32 bits: acc * M + C{' + residual * N' * len(spec.residuals)}, M up to "
            f"{max(broadcast(spec.multiplier, None))}{residuals}, s up to "
            f"{max(broadcast(spec.shift, None))}, outputs {spec.low}..{spec.high}, accumulators "
            f"{first}..{last}: a smaller shift, range or bound would help"
        )
    return best


def is_exact(spec: RequantSpec) -> bool:
    """Whether `lower_requantisation` accepts `spec`; faster, as the search stops at the first exact
    windows."""
    return next(_exact_windows(spec), None) is not None


_Added = tuple[int, int]
"""The least and the greatest sum of k * N."""


@dataclass(frozen=True, slots=True)
class _Window:
    """The interval [p, q] to which a channel's accumulators are clipped."""

    channel: Channel
    p: int
    q: int

    def sums(self, added: _Added) -> tuple[int, int]:
        """The sums of (p, least) and (q, greatest)."""
        least, greatest = added
        return self.channel.sum(self.p) + least, self.channel.sum(self.q) + greatest


def _exact_windows(spec: RequantSpec) -> Iterator[tuple[RequantSpec, list[_Window]]]:
    """Pairs of the reduced specification and windows, one for each channel, for which the lowering
    is exact."""
    reduced = spec.reduced()
    channels, added = reduced.per_channel, reduced.residual_sums
    kinds: tuple[Callable[[Channel, RequantSpec, _Added], _Window], ...]
    if spec.residuals:
        # A residual has one multiplier for all channels.
        alternatives = [channels]
        kinds = _whole, _narrowest
    else:
        # Reducing channels separately gives different shifts, but saves MUL if multipliers are
        # powers of two.
        own = tuple(channel.reduced() for channel in channels)
        alternatives = [channels] if own == channels else [channels, own]
        kinds = _whole, _preimage, _wide_preimage
    for alternative in alternatives:
        for window_of in kinds:
            windows = [window_of(channel, reduced, added) for channel in alternative]
            pairs = zip(windows, alternative, strict=True)
            if all(_fits(window, channel, reduced, added) for window, channel in pairs):
                yield reduced, windows


def _whole(channel: Channel, spec: RequantSpec, _: _Added) -> _Window:
    return _Window(channel, *spec.limits)


def _preimage(channel: Channel, spec: RequantSpec, _: _Added, margin: int = 0) -> _Window:
    """The window of accumulators with results in [low, high], without residuals, and `margin` more
    on either side."""
    first, last = spec.limits
    constant = spec.constant_sum(channel)
    if constant is not None:
        return _constant(channel, constant)
    under = spec.low << channel.shift
    over = spec.high + 1 << channel.shift
    p = -((channel.addend - under) // channel.multiplier) - margin
    q = (over - 1 - channel.addend) // channel.multiplier + margin
    return _Window(channel, max(first, p), min(last, q))


def _wide_preimage(channel: Channel, spec: RequantSpec, added: _Added) -> _Window:
    return _preimage(channel, spec, added, margin=1)


def _narrowest(channel: Channel, spec: RequantSpec, added: _Added) -> _Window:
    """From the last x with result `low` for every residual to the first with `high`."""
    first, last = spec.limits
    least, greatest = added
    under = ((spec.low + 1) << channel.shift) - 1 - greatest
    over = (spec.high << channel.shift) - least
    constant = spec.constant_sum(channel)
    if constant is not None:
        return _constant(channel, constant)
    if channel.multiplier == 0:
        return _whole(channel, spec, added)
    p = (under - channel.addend) // channel.multiplier
    q = -((channel.addend - over) // channel.multiplier)
    return _Window(channel, max(first, p), min(last, q))


def _constant(channel: Channel, addend: int) -> _Window:
    return _Window(replace(channel, addend=addend), 0, 0)


def _fits(window: _Window, channel: Channel, spec: RequantSpec, added: _Added) -> bool:
    """Whether a window's sums fit 32 bits and clipping x to the window does not change results."""
    least, greatest = window.sums(added)
    if window.p > window.q or least < INT32.low or greatest > INT32.high:
        return False
    first, last = spec.limits
    for own, x in ((window.p, first), (window.q, last)):
        if own == x and window.channel == channel:
            continue
        results = {
            spec.clip((function.sum(at) + residual) >> function.shift)
            for function, at in ((window.channel, own), (channel, x))
            for residual in set(added)
        }
        if len(results) > 1:
            return False
    return True


_Triple: TypeAlias = tuple[AluOp, Sequence[int], int]
"""An opcode, the operand for each channel, and the operand with which nothing changes."""


def _triples(
    spec: RequantSpec, windows: Sequence[_Window]
) -> tuple[tuple[_Triple, ...], tuple[_Triple, ...]]:
    """The operations on accumulators, and those on the sum, for windows that satisfy `_fits`."""
    first, last = spec.limits
    sums = [window.sums(spec.residual_sums) for window in windows]
    shifts = [window.channel.shift for window in windows]
    least = min(bottom >> shift for (bottom, _), shift in zip(sums, shifts, strict=True))
    greatest = max(top >> shift for (_, top), shift in zip(sums, shifts, strict=True))
    accumulator = (
        (AluOp.MAX, [window.p for window in windows], first),
        (AluOp.MIN, [window.q for window in windows], last),
        (AluOp.MUL, [window.channel.multiplier for window in windows], 1),
        (AluOp.ADD, [INT32.wrap(window.channel.addend) for window in windows], 0),
    )
    output = (
        (AluOp.SHR, shifts, 0),
        (AluOp.MAX, [spec.low], min(spec.low, least)),
        (AluOp.MIN, [spec.high], max(spec.high, greatest)),
    )
    return accumulator, output


def _operations(spec: RequantSpec, windows: Sequence[_Window]) -> AluRequantisation:
    """The ALU operations for windows that satisfy `_fits`."""
    accumulator, output = _triples(spec, windows)
    return AluRequantisation(
        _needed(*accumulator),
        tuple(_needed((AluOp.MUL, [each.multiplier], 1)) for each in spec.residuals),
        _needed(*output),
    )


def requantisation_chains(spec: RequantSpec) -> Iterator[tuple[ChainStep, ...]]:
    """The steps that compute `spec` exactly, for each kind of exact windows: those that change
    nothing too, and the addition of the residual if there is one."""
    for reduced, windows in _exact_windows(spec):
        accumulator, output = _triples(reduced, windows)
        added = (ChainStep(AluOp.ADD, Residual(each.multiplier)) for each in reduced.residuals)
        yield (*map(_chain_step, accumulator), *added, *map(_chain_step, output))


def _chain_step(triple: _Triple) -> ChainStep:
    op, values, identity = triple
    return ChainStep(op, Values(tuple(values)), all(value == identity for value in values))


def _needed(*operations: _Triple) -> tuple[AluOperation, ...]:
    """The operations of triples; one is dropped if all its operands are the identity."""
    return tuple(
        AluOperation.of(op, values)
        for op, values, identity in operations
        if any(value != identity for value in values)
    )
