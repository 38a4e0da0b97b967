"""Real multipliers as fractions M / 2^s, and how far off these are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from compiler.errors import QuantisationError
from compiler.requantisation.alu_lowering import Goal, Line, has_exact_steps
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
    "exact_scales",
    "finest_lines",
    "relative_error",
    "scaled_lines",
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
        return _exact(scales, "")
    if isinstance(scales, np.ndarray) and scales.ndim != 1:
        raise QuantisationError(f"scales of shape {scales.shape}: one number, or one dimension")
    return tuple(_exact(value, f" of channel {c}") for c, value in enumerate(scales))


def _exact(value: float | Fraction | np.floating, where: str) -> Fraction:
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
    per_channel = (0,) * len(wanted) if isinstance(wanted, tuple) else 0
    channels = common_channels(scales=per_channel, bias=biases)
    spread_scales = wanted if isinstance(wanted, tuple) else (wanted,) * (channels or 1)
    return spread_scales, spread(biases, channels), channels


def relative_error(scale: Fraction, line: Line) -> Fraction:
    """|M / 2^s - scale| / scale; for scale 0 it is 0 where M is too, and 1 otherwise."""
    if scale == 0:
        return Fraction(int(line.multiplier != 0))
    return abs(Fraction(line.multiplier, 1 << line.shift) - scale) / scale


def nearest(scale: Fraction, shift: int) -> int:
    """scale * 2^shift as an integer, halves up."""
    return ((scale.numerator << shift + 1) + scale.denominator) // (2 * scale.denominator)


def scaled_lines(
    scales: Sequence[Fraction],
    biases: Sequence[int],
    zero_point: int,
    goal: Goal,
    tolerance: Fraction,
) -> tuple[Line, ...]:
    """round((x + bias) * scale) + zero_point for each channel, with the largest exact shift.

    Refused where that moves an output, before it is rounded, by more than `tolerance` of the
    largest that is not clipped.
    """
    found = finest_lines(scales, biases, zero_point, lambda lines, _: has_exact_steps(lines, goal))
    if found is None:
        raise QuantisationError(
            f"scales up to {float(max(scales)):.6g}, biases {min(biases)}..{max(biases)}: with no "
            f"shift is {goal.low}..{goal.high} exact in 32 bits for accumulators "
            f"{goal.first}..{goal.last}"
        )
    lines, _ = found
    full = max(abs(goal.low - zero_point), abs(goal.high - zero_point))
    # As the nearest integer, M is off by at most 1 / (2 M - 1) of the scale.
    sufficient = math.ceil((1 / tolerance + 1) / 2) if tolerance else math.inf
    for channel, (scale, line) in enumerate(zip(scales, lines, strict=True)):
        if line.multiplier >= sufficient:
            continue
        # An error grows with what is multiplied: up to the accumulators' end, or to where clipping
        # begins.
        reach = max(-goal.first, goal.last) + abs(biases[channel])
        off = abs(Fraction(line.multiplier, 1 << line.shift) - scale)
        error = min(off * reach, relative_error(scale, line) * full)
        if error > tolerance * full:
            raise QuantisationError(
                f"scale {float(scale):.6g} of channel {channel}, as {line.multiplier} / "
                f"2^{line.shift}, moves outputs by up to {float(error):.3g}; "
                f"{float(tolerance * full):.3g} is allowed"
            )
    return lines


def finest_lines(
    scales: Sequence[Fraction],
    biases: Sequence[int],
    zero_point: int,
    is_exact: Callable[[Sequence[Line], int], bool],
    skip_scale: Fraction = Fraction(0),
    skip_zero_point: int = 0,
) -> tuple[tuple[Line, ...], int] | None:
    """Lines, and the multiplier of what is added to them, with the largest shift that is exact;
    None if none is."""
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
    return None
