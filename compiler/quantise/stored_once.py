"""Accumulators that are stored once: an accelerator gives the sums of a layer once, as int8.

Where several values are made from one accumulator, such as a convolution's result and its ReLU, one
int8 tensor is made from the accumulator, and the values from this tensor: by clipping if they have
its scale, which is exact; else by a requantisation, which adds a rounding of at most half a step of
the tensor. (To multiply twice would be exact, too, and take twice the time.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.nodes import Atom, Body, Call, Let, Var
from tandem.compiler.graph.opspec import OpPattern, OpSpec
from tandem.compiler.graph.visit import names_of, use_counts
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.quantise.builder import Builder
from tandem.compiler.quantise.forms import Int8Value, PendingAccumulator, Scale

SATURATING = 256.0
"""A ratio of two scales of int8 with which all but 0 is clipped, whatever the zero points are."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A requantisation of an accumulator.

    Attributes
    ----------
    let
        The requantisation; its name is that of an int8 tensor.
    pending
        The accumulator, with the limits of the value.
    scale
        The scale of the tensor.
    of
        The name of the value.
    own
        The scale that was chosen for the value, if any was; that of the tensor may be a user's.
    """

    let: Let
    pending: PendingAccumulator
    scale: Scale
    of: str
    own: Scale | None

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest real number that the value may be."""
        low, high = self.pending.low, self.pending.high
        return -math.inf if low is None else low, math.inf if high is None else high

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest real number that the tensor may stand for."""
        least, greatest = ((each - self.scale.zero) * self.scale.step for each in _INT8)
        low, high = self.limits
        return min(max(least, low), greatest), max(min(greatest, high), least)


_INT8 = INT8.low, INT8.high


def stored_once(builder: Builder, result: Atom, own: Mapping[str, Scale]) -> Body:
    """What was built, with accumulators that are requantised once each.

    An accumulator that is also read as real numbers is left as it is.

    Parameters
    ----------
    result
        The body's result.
    own
        The scales that were chosen for values, by name.
    """
    lets = _needed(builder.lets, result)
    changed: dict[str, tuple[Let, ...]] = {}
    for readers in _shared(builder, Body(lets, result), own):
        changed |= _from_one(builder, readers)
    return Body(tuple(new for let in lets for new in changed.get(let.name, (let,))), result)


def _needed(lets: Sequence[Let], result: Atom) -> tuple[Let, ...]:
    """The values that the result depends on."""
    needed = {result.name} if isinstance(result, Var) else set()
    kept: list[Let] = []
    for let in reversed(lets):
        if let.name in needed:
            kept.append(let)
            needed |= names_of(let.value)
    return tuple(reversed(kept))


def _shared(builder: Builder, body: Body, own: Mapping[str, Scale]) -> Iterator[tuple[Reader, ...]]:
    """The requantisations of each sum that has several and no other users, in order."""
    uses = use_counts(body)
    found: dict[str, list[Reader]] = {let.name: [] for let in body.lets if _is_sum(let)}
    for let in body.lets:
        pending = builder.requantised.get(let.name)
        if pending is not None and pending.acc.name in found:
            of, scale = builder.scales[let.name]
            found[pending.acc.name].append(Reader(let, pending, scale, of, own.get(of)))
    for name, readers in found.items():
        alike = len({reader.pending.residual for reader in readers}) == 1
        if len(readers) > 1 and uses[name] == len(readers) and alike:
            yield tuple(readers)


def _is_sum(let: Let) -> bool:
    """Whether a value is a sum of elements or products; all others are cheap to compute again."""
    value = let.value
    return (
        isinstance(value, Call)
        and isinstance(value.callee, OpSpec)
        and value.callee.pattern in (OpPattern.REDUCTION, OpPattern.OUT_FUSABLE)
    )


def _from_one(builder: Builder, readers: Sequence[Reader]) -> dict[str, tuple[Let, ...]]:
    """What takes the place of each reader, by name: the common tensor before the first of them; {}
    if that tensor is exact on no target."""
    scale = _common_scale(readers)
    try:
        common = _common(builder, readers, scale)
    except QuantisationError:
        return {}
    tensor = Int8Value(Var(common.name), scale)
    changed = {
        reader.let.name: () if reader.let is common else _derived(builder, reader, tensor)
        for reader in readers
    }
    first = readers[0].let.name
    return {**changed, first: (common, *changed[first])}


def _hull(readers: Sequence[Reader]) -> tuple[float, float]:
    """The limits of all values together."""
    lows, highs = zip(*(reader.limits for reader in readers), strict=True)
    return min(lows), max(highs)


def _common_scale(readers: Sequence[Reader]) -> Scale:
    """The scale of the tensor that all values are made from.

    That is the scale that was chosen for a value whose limits no other exceeds, even if all users
    have other scales; else the finest of the readers' scales with which int8 has all values, or a
    new one with which it just has.
    """
    for reader in readers:
        if reader.own is not None and reader.limits == _hull(readers):
            return reader.own
    least = min(reader.range[0] for reader in readers)
    greatest = max(reader.range[1] for reader in readers)
    for scale in sorted({reader.scale for reader in readers}, key=lambda scale: scale.step):
        if INT8.low <= scale.nearest(least) and scale.nearest(greatest) <= INT8.high:
            return scale
    step = float(np.float32((greatest - least) / (INT8.high - INT8.low)))
    return Scale(step, INT8.low - int(np.rint(least / step)))


def _common(builder: Builder, readers: Sequence[Reader], scale: Scale) -> Let:
    """The tensor that all values are made from: a reader's, or one with wider limits.

    Raises `QuantisationError` if it is exact on no target.
    """
    low, high = _hull(readers)
    for reader in readers:
        if reader.scale == scale and reader.limits == (low, high):
            return reader.let
    pending = replace(
        readers[0].pending,
        low=low if math.isfinite(low) else None,
        high=high if math.isfinite(high) else None,
    )
    (made,) = builder.apart(lambda: builder.requantise(readers[0].of, pending, scale))
    return made


def _derived(builder: Builder, reader: Reader, tensor: Int8Value) -> tuple[Let, ...]:
    """A reader's value, made from a tensor that has all its values."""
    step = min(tensor.scale.step, SATURATING * reader.scale.step)

    def make() -> None:
        pending = replace(
            builder.accumulator_of(tensor),
            scales=np.array([step]),
            low=reader.pending.low,
            high=reader.pending.high,
        )
        builder.requantise(reader.of, pending, reader.scale)

    *before, last = builder.apart(make)
    return (*before, replace(reader.let, value=last.value))
