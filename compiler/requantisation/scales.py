"""Real scales, their approximation by fractions M / 2^s, and the approximation errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from compiler.errors import QuantisationError
from compiler.requantisation.channels import (
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
    """

    multiplier: PerChannel
    addend: PerChannel
    residual_multipliers: tuple[int, ...]
    shift: int


@dataclass(frozen=True, slots=True)
class RealRequantisation:
    """round((acc + bias) * scale + sum of scaled residuals) + zero_point, in real numbers.

    Attributes
    ----------
    scales, biases
        One for each channel; of length 1 where `channels` is None.
    residual_scales
        The exact scales of `residuals`.
    """

    scales: tuple[Fraction, ...]
    biases: tuple[int, ...]
    zero_point: int
    residuals: tuple[ScaledResidual, ...]
    residual_scales: tuple[Fraction, ...]
    channels: int | None

    @staticmethod
    def of(
        scales: Real, bias: Integers, zero_point: int, residuals: Sequence[ScaledResidual]
    ) -> RealRequantisation:
        """A requantisation with exact scales. Raises `QuantisationError` for a number out of range,
        and for counts of channels that differ."""
        exact, biases = _exact_scales(scales), integers("bias", bias)
        check_range("bias", biases, *INT32)
        channels = channel_count(scales=exact, bias=biases)
        check_range("zero_point", zero_point, *INT32)
        for residual in residuals:
            check_range("residual zero_point", residual.zero_point, *INT16)
        return RealRequantisation(
            broadcast(exact, channels),
            broadcast(biases, channels),
            zero_point,
            tuple(residuals),
            tuple(_exact_scale(each.scale, " of a residual") for each in residuals),
            channels,
        )

    def in_units(self, shift: int) -> FixedPoint:
        """The integers of the requantisation, with scales rounded to units of 2^-shift."""
        multipliers = [_nearest(scale, shift) for scale in self.scales]
        added = tuple(_nearest(scale, shift) for scale in self.residual_scales)
        constant = (self.zero_point << shift) + (1 << shift >> 1)
        constant -= sum(n * each.zero_point for n, each in zip(added, self.residuals, strict=True))
        addends = [b * m + constant for m, b in zip(multipliers, self.biases, strict=True)]
        return FixedPoint(
            collapse(multipliers, self.channels), collapse(addends, self.channels), added, shift
        )

    def check_errors(
        self, found: FixedPoint, outputs: tuple[int, int], reach: int, tolerance: float | Fraction
    ) -> None:
        """Raises if the integers move an output too far from the real one, before rounding.

        Parameters
        ----------
        outputs
            The least and the greatest output.
        reach
            The largest absolute value of an accumulator.
        tolerance
            The largest error that is allowed, as a fraction of the largest output that is not
            clipped.

        Raises
        ------
        QuantisationError
            An error over the tolerance; the message names the channel and its scale.
        """
        full = max(abs(limit - self.zero_point) for limit in outputs)
        allowed = Fraction(tolerance) * full
        residuals = zip(
            self.residuals, self.residual_scales, found.residual_multipliers, strict=True
        )
        added = added_error = Fraction(0)
        for residual, scale, multiplier in residuals:
            added += scale * residual.reach
            added_error += abs(Fraction(multiplier, 1 << found.shift) - scale) * residual.reach
        # An unclipped scaled accumulator is at most the output range plus the residuals.
        farthest = full + added
        # As M is the nearest integer, its relative error is at most 1 / (2 M - 1).
        left = allowed - added_error
        sufficient = math.ceil((farthest / left + 1) / 2) if left > 0 else math.inf
        multipliers = broadcast(found.multiplier, self.channels)
        channels = zip(self.scales, self.biases, multipliers, strict=True)
        for channel, (scale, bias, multiplier) in enumerate(channels):
            if multiplier >= sufficient:
                continue
            # The error grows with the accumulator, up to the largest accumulator or to where
            # clipping begins.
            kept = min(scale * (reach + abs(bias)), farthest)
            error = relative_error(scale, multiplier, found.shift) * kept + added_error
            if error > allowed:
                raise QuantisationError(
                    f"scale {float(scale):.6g} of channel {channel}, as {multiplier} / "
                    f"2^{found.shift}, {self._residuals_as(found)}moves outputs by up to "
                    f"{float(error):.3g}; {float(allowed):.3g} is allowed"
                )

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


def _nearest(scale: Fraction, shift: int) -> int:
    """The integer nearest to scale * 2^shift, halves up."""
    return ((scale.numerator << shift + 1) + scale.denominator) // (2 * scale.denominator)
