"""Real multipliers as fractions M / 2^s, and how far off these are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from compiler.errors import QuantisationError
from compiler.requantisation.alu_lowering import Goal, Line
from compiler.requantisation.channels import (
    INT32,
    Whole,
    check_range,
    common_channels,
    spread,
    whole,
)

__all__ = [
    "ADDEND",
    "Real",
    "check_scale_errors",
    "exact_scale",
    "finest_lines",
    "relative_error",
    "scales_and_biases",
]

# What a caller may have scales in.
Real = float | Fraction | np.floating | Sequence[float | Fraction] | npt.NDArray[np.floating]

# With more, an accumulator of 1 would be over 32 bits.
LARGEST_SCALE = 1 << 31
# The sum that makes an 8-bit output has 8 + s bits: 31 of the 32 that there are.
LARGEST_SHIFT = 23
# M * acc is under 2^62; with an addend up to this, their sum is under 2^63.
ADDEND = (-(1 << 62), 1 << 62)


def exact_scales(scales: Real) -> Fraction | tuple[Fraction, ...]:
    """The same numbers without rounding; refused unless each lies in 0..2^31."""
    if isinstance(scales, float | int | Fraction | np.floating):
        return exact_scale(scales)
    if isinstance(scales, np.ndarray) and scales.ndim != 1:
        raise QuantisationError(f"scales of shape {scales.shape}: one number, or one dimension")
    return tuple(exact_scale(value, f" of channel {c}") for c, value in enumerate(scales))


def exact_scale(value: float | Fraction | np.floating, where: str = "") -> Fraction:
    """The same number without rounding; refused, with `where` it is, outside 0..2^31."""
    # Not a number is in no range.
    if not 0 <= value <= LARGEST_SCALE:
        raise QuantisationError(f"scale is {value}{where}: it has to lie in 0..2^31")
    return value if isinstance(value, Fraction) else Fraction(float(value))


def scales_and_biases(
    scales: Real, bias: Whole
) -> tuple[tuple[Fraction, ...], tuple[int, ...], int | None]:
    """A scale and a bias for each channel, or one of both for the tensor, and the channels."""
    wanted, biases = exact_scales(scales), whole("bias", bias)
    check_range("bias", biases, *INT32)
    channels = common_channels(scales=wanted, bias=biases)
    return spread(wanted, channels), spread(biases, channels), channels


def relative_error(scale: Fraction, line: Line) -> Fraction:
    """|M / 2^s - scale| / scale; for scale 0 it is 0 where M is too, and 1 otherwise."""
    if scale == 0:
        return Fraction(int(line.multiplier != 0))
    return abs(Fraction(line.multiplier, 1 << line.shift) - scale) / scale


def nearest(scale: Fraction, shift: int) -> int:
    """scale * 2^shift as an integer, halves up."""
    return ((scale.numerator << shift + 1) + scale.denominator) // (2 * scale.denominator)


def finest_lines(
    scales: Sequence[Fraction],
    biases: Sequence[int],
    zero_point: int,
    is_exact: Callable[[Sequence[Line], int], bool],
    refusal: str,
    skip_scale: Fraction = Fraction(0),
    skip_zero_point: int = 0,
) -> tuple[tuple[Line, ...], int]:
    """round((x + bias) * scale) + zero_point for each channel, and the multiplier of what is added
    to them, with the largest shift that is exact; refused with that message if none is."""
    for shift in range(LARGEST_SHIFT, -1, -1):
        skip = nearest(skip_scale, shift)
        constant = (zero_point << shift) + (1 << shift >> 1) - skip_zero_point * skip
        multipliers = [nearest(scale, shift) for scale in scales]
        lines = tuple(
            Line(m, b * m + constant, shift) for m, b in zip(multipliers, biases, strict=True)
        )
        if (
            max(*multipliers, skip) <= INT32[1]
            and all(ADDEND[0] <= line.addend <= ADDEND[1] for line in lines)
            and is_exact(lines, skip)
        ):
            return lines, skip
    raise QuantisationError(refusal)


def check_scale_errors(
    scales: Sequence[Fraction],
    biases: Sequence[int],
    lines: Sequence[Line],
    zero_point: int,
    goal: Goal,
    tolerance: float | Fraction,
    rounding: Callable[[Line], str],
    added: Fraction = Fraction(0),
    added_error: Fraction = Fraction(0),
) -> None:
    """Refuses lines that move an output, before it is rounded, too far from what `scales` say, and
    a tolerance outside 0..1.

    Parameters
    ----------
    tolerance
        How far is allowed, as a fraction of the largest output that is not clipped.
    rounding
        How the error says what became of a scale.
    added, added_error
        The largest absolute value of what is added to outputs, and how far that is moved already.
    """
    if not 0 <= tolerance <= 1:
        raise QuantisationError(f"tolerance is {tolerance}: it has to lie in 0..1")
    full = max(abs(goal.low - zero_point), abs(goal.high - zero_point))
    reach = max(-goal.first, goal.last)
    # What is not clipped is at most as far out as the range and what is added back.
    farthest = full + added
    allowed = Fraction(tolerance) * full
    # As the nearest integer, M is off by at most 1 / (2 M - 1) of the scale.
    left = allowed - added_error
    sufficient = math.ceil((farthest / left + 1) / 2) if left > 0 else math.inf
    for channel, (scale, bias, line) in enumerate(zip(scales, biases, lines, strict=True)):
        if line.multiplier >= sufficient:
            continue
        # An error grows with what is multiplied: up to the accumulators' end, or to where clipping
        # begins.
        kept = min(scale * (reach + abs(bias)), farthest)
        error = relative_error(scale, line) * kept + added_error
        if error > allowed:
            raise QuantisationError(
                f"scale {float(scale):.6g} of channel {channel}{rounding(line)} outputs by up to "
                f"{float(error):.3g}; {float(allowed):.3g} is allowed"
            )
