"""Real scales, their approximation by fractions M / 2^s, and the approximation errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tandem.compiler.errors import QuantisationError
from tandem.compiler.requantisation.channels import (
    INT16,
    INT32,
    Integers,
    PerChannel,
    broadcast,
    channel_count,
    check_range,
    collapse,
    integers,
)

Real = float | Fraction | np.floating | Sequence[float | Fraction] | npt.NDArray[np.floating]
"""The types in which callers may pass scales."""

LARGEST_SCALE = 1 << 31
"""The largest scale; beyond, an accumulator of 1 would give an output of over 32 bits."""
LARGEST_SHIFT = 23
"""The largest shift s: the sum before an 8-bit output has 8 + s bits, 31 of 32."""
SMALL_SCALE = Fraction(1, 1 << 15)
"""A scale below those of usual layers, whose sums of products of int8 have less than 22 bits."""
FINE = Fraction(1, 8)
"""The largest error of a bias that is multiplied by a rounded scale, in outputs."""


FRACTION_BITS = 10
"""Bits of a residual's multiplier below the point that stay as they are."""
PACKED_FRACTION_BITS = 7
"""The same where the multiplier is added to a packed operand: 127 times its error is at most half
an output."""
ADDEND_BITS = 7
"""Bits of an addend below the point that stay as they are: it is off by a 256th of an output."""
PACKED_ADDEND_BITS = 5
"""The same of an addend in a packed operand: it is off by a 64th of an output."""


@dataclass(frozen=True, slots=True)
class ShortFactors:
    """What a machine asks of the integers of requantisations, to compute them in few instructions.

    Attributes
    ----------
    multiplier_bits
        The most bits that M should have; None for any M.
    zero_bits
        Low bits of addends and of residuals' multipliers that should be zeros; fewer are where
        less than `FRACTION_BITS` bits would be left of the shift.
    addend_zero_bits
        The same of addends alone, which need `ADDEND_BITS`.
    packed_zero_bits
        The same of addends and of residuals' multipliers that go into one operand with M: all of
        these bits are zeros where `PACKED_ADDEND_BITS`, `PACKED_FRACTION_BITS` are left, else no
        more than others ask.
    """

    multiplier_bits: int | None = None
    zero_bits: int = 0
    addend_zero_bits: int = 0
    packed_zero_bits: int = 0

    def zeros(self, shift: int) -> int:
        """The low bits of a residual's multiplier that are zeros with a shift."""
        few = min(self.zero_bits, max(shift - FRACTION_BITS, 0))
        packed = self.packed_zero_bits
        return max(few, packed) if packed <= shift - PACKED_FRACTION_BITS else few

    def addend_zeros(self, shift: int) -> int:
        """The low bits of an addend that are zeros with a shift."""
        few = max(self.zeros(shift), min(self.addend_zero_bits, max(shift - ADDEND_BITS, 0)))
        packed = self.packed_zero_bits
        return max(few, packed) if packed <= shift - PACKED_ADDEND_BITS else few

    def joined(self, other: ShortFactors) -> ShortFactors:
        """What both ask."""
        widths = [
            bits for bits in (self.multiplier_bits, other.multiplier_bits) if bits is not None
        ]
        return ShortFactors(
            min(widths, default=None),
            max(self.zero_bits, other.zero_bits),
            max(self.addend_zero_bits, other.addend_zero_bits),
            max(self.packed_zero_bits, other.packed_zero_bits),
        )


ANY_FACTORS = ShortFactors()
"""What a machine asks that takes any integers."""


@dataclass(frozen=True, slots=True)
class ScaledResidual:
    """A tensor that is added before rounding, as (value - zero_point) * scale in units of outputs;
    the values are from `low` to `high`."""

    scale: float | Fraction
    zero_point: int = 0
    low: int = -128
    high: int = 127

    @property
    def reach(self) -> int:
        """The largest absolute value of value - zero_point."""
        return max(abs(self.low - self.zero_point), abs(self.high - self.zero_point))


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """The integers of a real requantisation in units of 2^-shift.

    Attributes
    ----------
    multiplier, addend
        One number for the tensor, or one for each channel.
    residual_multipliers
        One number for each residual.
    is_nearest
        Whether multipliers are the nearest integers, none rounded to fewer bits.
    """

    multiplier: PerChannel
    addend: PerChannel
    residual_multipliers: tuple[int, ...]
    shift: int
    is_nearest: bool

    def with_zeros(self, bits: int) -> FixedPoint:
        """The same with each addend rounded to a multiple of 2^bits, halves up."""
        rounded = [_multiple(addend, bits) for addend in broadcast(self.addend, None)]
        if isinstance(self.addend, int):
            return replace(self, addend=rounded[0])
        return replace(self, addend=tuple(rounded))


@dataclass(frozen=True, slots=True)
class RealRequantisation:
    """round((acc + bias) * scale + sum of scaled residuals) + zero_point, in real numbers.

    Attributes
    ----------
    scales, biases
        One for each channel; of length 1 where `channels` is None.
    outputs
        The least and the greatest output.
    residual_scales
        The exact scales of `residuals`.
    """

    scales: tuple[Fraction, ...]
    biases: tuple[int, ...]
    outputs: tuple[int, int]
    zero_point: int
    residuals: tuple[ScaledResidual, ...]
    residual_scales: tuple[Fraction, ...]
    channels: int | None

    @staticmethod
    def of(
        scales: Real,
        bias: Integers,
        outputs: tuple[int, int],
        zero_point: int,
        residuals: Sequence[ScaledResidual],
    ) -> RealRequantisation:
        """A requantisation with exact scales.

        A scale with which an accumulator of 1 is clipped already is lowered to the power of two
        that suffices for that: all outputs stay the same.

        Raises `QuantisationError` for a number out of range, and for counts of channels that
        differ.
        """
        exact, biases = _exact_scales(scales), integers("bias", bias)
        check_range("bias", biases, *INT32)
        channels = channel_count(scales=exact, bias=biases)
        check_range("zero_point", zero_point, *INT32)
        for residual in residuals:
            check_range("residual zero_point", residual.zero_point, *INT16)
        real = RealRequantisation(
            broadcast(exact, channels),
            broadcast(biases, channels),
            outputs,
            zero_point,
            tuple(residuals),
            tuple(_exact_scale(each.scale, " of a residual") for each in residuals),
            channels,
        )
        clipped = Fraction(1 << math.ceil(real.farthest).bit_length())
        return replace(real, scales=tuple(min(scale, clipped) for scale in real.scales))

    @property
    def largest_output(self) -> int:
        """The largest absolute value of output - zero_point."""
        return max(abs(limit - self.zero_point) for limit in self.outputs)

    @property
    def farthest(self) -> Fraction:
        """The largest scaled accumulator that is not clipped: the range of outputs, and what
        residuals take away."""
        pairs = zip(self.residual_scales, self.residuals, strict=True)
        return self.largest_output + sum((scale * each.reach for scale, each in pairs), Fraction(0))

    def in_units(
        self, shift: int, multiplier_bits: int | None = None, zero_bits: int = 0
    ) -> FixedPoint:
        """The integers of the requantisation, with scales rounded to units of 2^-shift, those of
        residuals to multiples of 2^zero_bits.

        Multipliers are rounded to `multiplier_bits` significant bits: the zeros behind these are
        cancelled with the channel's shift.
        """
        multipliers = [
            _significant(_nearest(scale, shift), multiplier_bits) for scale in self.scales
        ]
        added = tuple(
            _nearest(scale, shift - zero_bits) << zero_bits for scale in self.residual_scales
        )
        constant = (self.zero_point << shift) + (1 << shift >> 1)
        constant -= sum(n * each.zero_point for n, each in zip(added, self.residuals, strict=True))
        addends = [b * m + constant for m, b in zip(multipliers, self.biases, strict=True)]
        return FixedPoint(
            collapse(multipliers, self.channels),
            collapse(addends, self.channels),
            added,
            shift,
            is_nearest=multiplier_bits is None,
        )

    def within_tolerance(
        self, found: FixedPoint, largest: int, tolerance: float | Fraction
    ) -> FixedPoint:
        """The integers, if they move no output too far from the real one, before rounding.

        Where bias * M is off by more than `FINE` of an output, or an output moves too far, M has
        few digits: weights are tiny beside the bias, or beside those of other channels. Such a
        channel gets the addend of its exact scale, so that only products are multiplied with a
        rounded scale. An output of it moves by at most 2^-(s + 1) for the addend, and as much for
        each unit of the accumulator. This is judged at the largest accumulator that is likely: one
        that a channel of a usual scale, the upper quartile or more, does not clip, as all channels
        multiply the same data.

        Parameters
        ----------
        largest
            The largest absolute value of an accumulator.
        tolerance
            The largest error that is allowed, as a fraction of the largest output that is not
            clipped.

        Raises
        ------
        QuantisationError
            An error over the tolerance; the message names the channel and its scale.
        """
        allowed = Fraction(tolerance) * self.largest_output
        added_error = self._residual_error(found)
        left, farthest = allowed - added_error, self.farthest
        # As M is the nearest integer, its error is at most half a unit, and its relative error at
        # most 1 / (2 M - 1).
        small_bias = int(FINE * (2 << found.shift))
        sufficient, enough = (
            math.ceil((farthest / error + 1) / 2) if error > 0 else math.inf
            for error in (left, min(left, FINE))
        )
        multipliers = broadcast(found.multiplier, self.channels)
        channels = zip(self.scales, self.biases, multipliers, strict=True)
        few_digits, far = [], []
        for channel, (scale, bias, multiplier) in enumerate(channels):
            is_fine = multiplier >= (sufficient if abs(bias) <= small_bias else enough)
            if found.is_nearest and is_fine:
                continue
            # The error grows with the accumulator, up to the largest accumulator or to where
            # clipping begins.
            relative = relative_error(scale, multiplier, found.shift)
            is_near = relative * min(scale * (largest + abs(bias)), farthest) <= left
            if is_near and relative * min(scale * abs(bias), farthest) <= FINE:
                continue
            few_digits.append(channel)
            far += [] if is_near else [channel]
        if far:
            self._check_products(found, far, largest, allowed - added_error)
        return self._with_exact_addends(found, few_digits) if few_digits else found

    def _residual_error(self, found: FixedPoint) -> Fraction:
        """The largest error of the residuals, in outputs."""
        residuals = zip(
            self.residuals, self.residual_scales, found.residual_multipliers, strict=True
        )
        return sum(
            (
                abs(Fraction(multiplier, 1 << found.shift) - scale) * residual.reach
                for residual, scale, multiplier in residuals
            ),
            Fraction(0),
        )

    def _check_products(
        self, found: FixedPoint, channels: Sequence[int], largest: int, allowed: Fraction
    ) -> None:
        """Raises `QuantisationError` for a channel whose products move an output too far, although
        the addend is that of the exact scale."""
        usual = max(sorted(self.scales)[3 * len(self.scales) // 4], SMALL_SCALE)
        likely = min(Fraction(largest), self.largest_output / usual)
        multipliers = broadcast(found.multiplier, self.channels)
        for channel in channels:
            scale, multiplier = self.scales[channel], multipliers[channel]
            kept = min(scale * likely, self.farthest + scale * abs(self.biases[channel]))
            error = relative_error(scale, multiplier, found.shift) * kept
            error += Fraction(1, 2 << found.shift)
            if error > allowed:
                raise QuantisationError(
                    f"scale {float(scale):.6g} of channel {channel}, as {multiplier} / "
                    f"2^{found.shift}, {self._residuals_as(found)}moves outputs by up to "
                    f"{float(error):.3g}; {float(allowed):.3g} is allowed"
                )

    def _with_exact_addends(self, found: FixedPoint, channels: Sequence[int]) -> FixedPoint:
        """The integers with addends of the exact scales in some channels."""
        addends = list(broadcast(found.addend, self.channels))
        multipliers = broadcast(found.multiplier, self.channels)
        for channel in channels:
            bias = self.biases[channel]
            exact = _nearest(bias * self.scales[channel], found.shift)
            addends[channel] += exact - bias * multipliers[channel]
        return replace(found, addend=collapse(addends, self.channels))

    def _residuals_as(self, found: FixedPoint) -> str:
        """The part of an error message that lists the residuals."""
        scales = zip(self.residual_scales, found.residual_multipliers, strict=True)
        return "".join(
            f"with {float(scale):.6g} of a residual, as {multiplier} / 2^{found.shift}, "
            for scale, multiplier in scales
        )


def relative_error(scale: Fraction, multiplier: int, shift: int) -> Fraction:
    """|M / 2^s - scale| / scale; for scale 0, it is 0 if M is 0, else 1."""
    if scale == 0:
        return Fraction(int(multiplier != 0))
    return abs(Fraction(multiplier, 1 << shift) - scale) / scale


def _exact_scales(scales: Real) -> Fraction | tuple[Fraction, ...]:
    """The scales as exact fractions. Raises `QuantisationError` outside 0..2^31."""
    if isinstance(scales, float | int | Fraction | np.floating):
        return _exact_scale(scales)
    if isinstance(scales, np.ndarray) and scales.ndim != 1:
        raise QuantisationError(f"scales of shape {scales.shape}: one number, or one dimension")
    return tuple(_exact_scale(value, f" of channel {c}") for c, value in enumerate(scales))


def _exact_scale(value: float | Fraction | np.floating, where: str = "") -> Fraction:
    """The scale as an exact fraction. Raises `QuantisationError` outside 0..2^31."""
    # The negated comparison also refuses NaN.
    if not 0 <= value <= LARGEST_SCALE:
        raise QuantisationError(f"scale is {value}{where}: it has to lie in 0..2^31")
    return value if isinstance(value, Fraction) else Fraction(float(value))


def _significant(number: int, bits: int | None) -> int:
    """A number from 0 up, rounded to so many significant bits, halves up."""
    extra = 0 if bits is None else max(number.bit_length() - bits, 0)
    return (number + (1 << extra >> 1)) >> extra << extra


def _multiple(number: int, bits: int) -> int:
    """The multiple of 2^bits that is nearest to a number, halves up."""
    return (number + (1 << bits >> 1)) >> bits << bits


def _nearest(scale: Fraction, shift: int) -> int:
    """The integer nearest to scale * 2^shift, halves up."""
    return ((scale.numerator << shift + 1) + scale.denominator) // (2 * scale.denominator)
