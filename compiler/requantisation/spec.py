"""The integer specification of a requantisation, and its reference implementation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tandem.compiler.errors import QuantisationError
from tandem.compiler.ir.dtypes import smallest_int
from tandem.compiler.requantisation.channels import (
    INT16,
    INT32,
    Integers,
    PerChannel,
    broadcast,
    broadcast_along_axis,
    channel_count,
    check_range,
    checked_int32,
    collapse,
    integers,
)
from tandem.compiler.requantisation.scales import (
    ANY_FACTORS,
    LARGEST_SHIFT,
    FixedPoint,
    Real,
    RealRequantisation,
    ScaledResidual,
    ShortFactors,
)

Signed = npt.NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True)
class Residual:
    """A tensor that is multiplied by N and added to the accumulators before the shift.

    Attributes
    ----------
    multiplier
        N, 0 to 2^31 - 1.
    low, high
        The least and the greatest value of the tensor, within 16 bits.
    """

    multiplier: int
    low: int = -128
    high: int = 127

    def __post_init__(self) -> None:
        check_range("residual multiplier", self.multiplier, 0, INT32[1])
        check_range("least residual", self.low, *INT16)
        check_range("greatest residual", self.high, self.low, INT16[1])


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel's requantisation before it clips: (x * multiplier + addend) >> shift."""

    multiplier: int
    addend: int
    shift: int

    def sum(self, x: int) -> int:
        """x * multiplier + addend, before the shift."""
        return x * self.multiplier + self.addend

    def unclipped(self, x: int) -> int:
        """The result before clipping, without residuals."""
        return self.sum(x) >> self.shift

    def reduced(self) -> Channel:
        """The same function with the common powers of two of M and 2^s cancelled."""
        twos = _factors_of_two(self.multiplier | 1 << self.shift)
        return Channel(self.multiplier >> twos, self.addend >> twos, self.shift - twos)


@dataclass(frozen=True, slots=True)
class RequantSpec:
    """out = clip((acc * multiplier + addend + residuals) >> shift, low, high), in integers.

    `residuals` stands for the sum of residual * its multiplier; plain requantisation has none. With
    half of 2^shift inside `addend`, as the constructors put it there, this rounds to nearest,
    halves towards plus infinity. Integers here are unbounded; `Target.is_exact` says whether a
    target computes a specification exactly.

    Attributes
    ----------
    multiplier
        M, 0 to 2^31 - 1; for the tensor, or a tuple with one for each channel.
    addend
        C: bias, zero points and rounding; |C| is at most 2^62 less what residuals can add, so that
        64 bits hold the sum; for the tensor, or one for each channel.
    shift
        s, 0 to 31; for the tensor, or one for each channel.
    low, high
        The least and the greatest output, both included and within 32 bits.
    bound
        Accumulators are from -bound to bound; None for all of 32 bits.
    residuals
        The tensors that are added before the shift.

    Raises
    ------
    QuantisationError
        A number out of its range, or counts of channels that differ.
    """

    multiplier: PerChannel
    addend: PerChannel
    shift: PerChannel
    low: int
    high: int
    bound: int | None = None
    residuals: tuple[Residual, ...] = ()

    def __post_init__(self) -> None:
        check_range("multiplier", self.multiplier, 0, INT32[1])
        limit = _largest_addend(self.residuals)
        check_range("addend", self.addend, -limit, limit)
        check_range("shift", self.shift, 0, 31)
        check_range("low", self.low, *INT32)
        check_range("high", self.high, self.low, INT32[1])
        if self.bound is not None:
            check_range("bound", self.bound, 0, 1 << 31)
        channel_count(multiplier=self.multiplier, addend=self.addend, shift=self.shift)

    @classmethod
    def pow2(
        cls,
        shift: Integers,
        bias: Integers = 0,
        low: int = -128,
        high: int = 127,
        *,
        bound: int | None = None,
    ) -> Self:
        """out = clip(round((acc + bias) / 2^shift), low, high), halves towards plus infinity.

        `shift` (0 to 31) and `bias` (32 bits) are numbers, or sequences with one for each channel.
        Raises the errors of `RequantSpec`.
        """
        shifts, biases = integers("shift", shift), integers("bias", bias)
        check_range("shift", shifts, 0, 31)
        check_range("bias", biases, *INT32)
        channels = channel_count(shift=shifts, bias=biases)
        pairs = zip(broadcast(biases, channels), broadcast(shifts, channels), strict=True)
        addend = collapse([b + (1 << s >> 1) for b, s in pairs], channels)
        return cls(1, addend, shifts, low, high, bound)

    @classmethod
    def from_scales(
        cls,
        scales: Real,
        bias: Integers = 0,
        low: int = -128,
        high: int = 127,
        *,
        zero_point: int = 0,
        bound: int | None = None,
        residuals: Sequence[ScaledResidual] = (),
        tolerance: float | Fraction = Fraction(1, 128),
        is_exact: Callable[[RequantSpec], bool] = lambda _: True,
        short: ShortFactors = ANY_FACTORS,
    ) -> Self:
        """out = clip(round((acc + bias) * scale + scaled residuals) + zero_point, low, high),
        nearly.

        A scale becomes M / 2^s: M the nearest integer, s the largest up to 23 for which `is_exact`
        holds, one s for all channels and residuals. The relative error is at most 1 / (2 M - 1), so
        at most 2^-(k - 1) for an M of k bits. All later arithmetic is exact.

        Where M has few digits, because weights are tiny beside a bias or beside those of other
        channels, the addend has the bias times the exact scale. An output is then off by at most
        2^-(s + 1) for the addend, and as much for each unit of the accumulator, before it is
        rounded; s is 22 or 23 unless a residual exceeds the outputs.

        Parameters
        ----------
        scales
            Real numbers from 0 up, taken at their exact values: one, or one for each channel.
        bias
            Added to accumulators; 32 bits; one, or one for each channel.
        low, high, bound
            See the attributes of `RequantSpec`.
        zero_point
            Added to outputs; 32 bits.
        residuals
            Tensors with real scales, which become the residuals of the specification.
        tolerance
            How far scales that are not exact may move an output before it is rounded, as a fraction
            of the largest output that is not clipped. The default is one unit of an 8-bit output.
        is_exact
            Whether the targets compute a specification exactly (`Target.is_exact`); by default True
            for every specification.
        short
            What M, the addend and multipliers of residuals should be: s is smaller for M's bits, as
            long as errors are within the tolerance. If they are not before M is short, M is rounded
            to so many significant bits: the zeros behind these are cancelled with a shift for each
            channel.

        Raises
        ------
        QuantisationError
            The errors of `RequantSpec`; a scale that is negative, NaN or over 2^31; no exact
            shift; an error over the tolerance.
        """
        if not 0 <= tolerance <= 1:
            raise QuantisationError(f"tolerance is {tolerance}: it has to lie in 0..1")
        real = RealRequantisation.of(scales, bias, (low, high), zero_point, residuals)
        largest = 1 << 31 if bound is None else bound
        longest: Self | None = None
        for shift in range(LARGEST_SHIFT, -1, -1):
            zeros = short.addend_zeros(shift)
            found = real.in_units(shift, zero_bits=short.zeros(shift)).with_zeros(zeros)
            spec = cls._of(real, found, bound, is_exact)
            if spec is None:
                continue
            try:
                numbers = real.within_tolerance(found, largest, tolerance)
            except QuantisationError:
                if longest is None:
                    raise
                break
            if numbers is not found:
                if longest is not None:
                    break  # A smaller shift would leave fewer digits to a channel that has few.
                spec = cls._of(real, numbers.with_zeros(zeros), bound, is_exact)
                if spec is None:
                    continue
            bits = short.multiplier_bits
            if bits is None or spec.largest_multiplier >> bits == 0:
                return spec
            longest = longest or spec
        if longest is not None:
            shift = longest.largest_shift
            zeros = short.addend_zeros(shift)
            found = real.in_units(shift, short.multiplier_bits, short.zeros(shift))
            try:
                numbers = real.within_tolerance(found, largest, tolerance)
            except QuantisationError:
                return longest
            return cls._of(real, numbers.with_zeros(zeros), bound, is_exact) or longest
        more = "".join(f", {float(scale):.6g} of a residual" for scale in real.residual_scales)
        raise QuantisationError(
            f"scales up to {float(max(real.scales)):.6g}{more}, biases "
            f"{min(real.biases)}..{max(real.biases)}: with no shift is {low}..{high} exact "
            f"for accumulators of at most {1 << 31 if bound is None else bound}"
        )

    @classmethod
    def _of(
        cls,
        real: RealRequantisation,
        found: FixedPoint,
        bound: int | None,
        is_exact: Callable[[RequantSpec], bool],
    ) -> Self | None:
        """The specification with the integers of `found`; None if these are too large, or it is not
        exact."""
        if max(*broadcast(found.multiplier, None), *found.residual_multipliers, 0) > INT32[1]:
            return None
        pairs = zip(found.residual_multipliers, real.residuals, strict=True)
        added = tuple(Residual(multiplier, each.low, each.high) for multiplier, each in pairs)
        if max(map(abs, broadcast(found.addend, None))) > _largest_addend(added):
            return None
        numbers = found.multiplier, found.addend, found.shift
        spec = cls(*numbers, *real.outputs, bound, added)
        return spec if is_exact(spec) else None

    @property
    def channels(self) -> int | None:
        """The number of channels; None if all numbers are per tensor."""
        return channel_count(multiplier=self.multiplier, addend=self.addend, shift=self.shift)

    @property
    def largest_multiplier(self) -> int:
        """The largest M of all channels."""
        return max(broadcast(self.multiplier, None))

    @property
    def largest_shift(self) -> int:
        """The largest s of all channels."""
        return max(broadcast(self.shift, None))

    @property
    def per_channel(self) -> tuple[Channel, ...]:
        """The numbers of each channel; one `Channel` if all numbers are per tensor."""
        numbers = (self.multiplier, self.addend, self.shift)
        return tuple(map(Channel, *(broadcast(each, self.channels) for each in numbers)))

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest accumulator."""
        if self.bound is None:
            return INT32
        return -self.bound, min(self.bound, INT32[1])

    @property
    def residual_sums(self) -> tuple[int, int]:
        """The least and the greatest sum of residual * its multiplier."""
        least = sum(each.low * each.multiplier for each in self.residuals)
        return least, sum(each.high * each.multiplier for each in self.residuals)

    @property
    def dtype(self) -> np.dtype[np.signedinteger[Any]]:
        """The smallest signed type that holds every output: int8, int16 or int32."""
        return smallest_int(self.low, self.high).numpy

    def clip(self, value: int) -> int:
        """`value` kept within low..high."""
        return min(max(value, self.low), self.high)

    def constant_sum(self, channel: Channel) -> int | None:
        """The sum without residuals that gives all outputs of a channel, if its outputs are the
        same for all accumulators, whatever the residuals; None if they are not."""
        first, last = self.limits
        if not self.residuals:
            result = self.clip(channel.unclipped(first))
            same = result == self.clip(channel.unclipped(last))
            return result << channel.shift if same else None
        least, greatest = self.residual_sums
        under = ((self.low + 1) << channel.shift) - 1 - greatest
        over = (self.high << channel.shift) - least
        if channel.sum(last) <= under:
            return under
        return over if channel.sum(first) >= over else None

    def reference(
        self, acc: Signed, axis: int | None = None, residuals: Sequence[Signed] = ()
    ) -> Signed:
        """The outputs for `acc`, of type `dtype`.

        Parameters
        ----------
        acc
            Signed integers of any shape, within `limits`.
        axis
            The channel dimension of `acc`; required if a number is per channel.
        residuals
            The tensors of `self.residuals`, of shapes that broadcast to the shape of `acc`.

        Raises
        ------
        QuantisationError
            A number outside its limits, or an axis that does not suit the channels.
        """
        total = checked_int32("reference", acc, self.limits).astype(np.int64)
        m, c, s = (
            broadcast_along_axis("reference", numbers, acc.shape, axis)
            for numbers in (self.multiplier, self.addend, self.shift)
        )
        total = total * m + c
        for residual, values in zip(self.residuals, residuals, strict=True):
            limits = residual.low, residual.high
            wide = checked_int32("reference", values, limits, "residual").astype(np.int64)
            total = total + wide * residual.multiplier
        outputs: npt.NDArray[np.int64] = np.clip(total >> s, self.low, self.high)
        return outputs.astype(self.dtype)

    def reduced(self) -> Self:
        """The same function with the common powers of two of all M, N and 2^s cancelled.

        Exact: the bits that the addend loses are below the last bit of every other term.
        """
        joint = 0
        for channel in self.per_channel:
            joint |= channel.multiplier | 1 << channel.shift
        for residual in self.residuals:
            joint |= residual.multiplier
        twos = _factors_of_two(joint)
        return replace(
            self,
            multiplier=_mapped(self.multiplier, lambda m: m >> twos),
            addend=_mapped(self.addend, lambda c: c >> twos),
            shift=_mapped(self.shift, lambda s: s - twos),
            residuals=tuple(
                replace(residual, multiplier=residual.multiplier >> twos)
                for residual in self.residuals
            ),
        )


def _factors_of_two(number: int) -> int:
    return (number & -number).bit_length() - 1


def _mapped(value: PerChannel, function: Callable[[int], int]) -> PerChannel:
    """`function` applied to the number, or to the number of each channel."""
    return tuple(map(function, value)) if isinstance(value, tuple) else function(value)


def _largest_addend(residuals: tuple[Residual, ...]) -> int:
    """The largest addend with which the sum is under 2^63, as M * acc is under 2^62."""
    return (1 << 62) - sum(each.multiplier * max(-each.low, each.high) for each in residuals)
