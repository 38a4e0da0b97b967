"""Real scales of a residual sum as integers over one power of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from compiler.errors import QuantisationError
from compiler.requantisation.alu_lowering import Goal, Line
from compiler.requantisation.residual_lowering import Skip, has_exact_residual_steps
from compiler.requantisation.scales import finest_lines, relative_error

__all__ = ["Scaled", "residual_lines"]


@dataclass(frozen=True, slots=True)
class Scaled:
    """What is added: (value - zero_point) * scale, for values within limits."""

    scale: Fraction
    zero_point: int
    limits: tuple[int, int]

    @property
    def most(self) -> int:
        """The largest absolute value before it is scaled."""
        return max(abs(limit - self.zero_point) for limit in self.limits)


def residual_lines(
    scales: Sequence[Fraction],
    biases: Sequence[int],
    added: Scaled,
    zero_point: int,
    goal: Goal,
    tolerance: Fraction,
) -> tuple[tuple[Line, ...], int]:
    """A line for each channel, with the largest exact shift, and the multiplier of what is added.

    Refused where rounded scales move an output, before it is rounded, by more than `tolerance` of
    the largest that is not clipped.
    """

    def is_exact(lines: Sequence[Line], skip: int) -> bool:
        return has_exact_residual_steps(lines, Skip(skip, *added.limits), goal)

    found = finest_lines(scales, biases, zero_point, is_exact, added.scale, added.zero_point)
    if found is None:
        raise QuantisationError(
            f"scales up to {float(max(scales)):.6g} and {float(added.scale):.6g}: with no shift is "
            f"their sum exact in 32 bits for outputs {goal.low}..{goal.high}"
        )
    lines, skip = found
    full = max(abs(goal.low - zero_point), abs(goal.high - zero_point))
    reach = max(-goal.first, goal.last)
    shift = lines[0].shift
    skip_error = abs(Fraction(skip, 1 << shift) - added.scale) * added.most
    # What is not clipped is at most as far out as the range and what is added back.
    farthest = full + added.scale * added.most
    # As the nearest integer, M is off by at most 1 / (2 M - 1) of the scale.
    allowed = tolerance * full - skip_error
    sufficient = math.ceil((farthest / allowed + 1) / 2) if allowed > 0 else math.inf
    for channel, (scale, line) in enumerate(zip(scales, lines, strict=True)):
        if line.multiplier >= sufficient:
            continue
        kept = min(scale * (reach + abs(biases[channel])), farthest)
        error = relative_error(scale, line) * kept + skip_error
        if error > tolerance * full:
            raise QuantisationError(
                f"scale {float(scale):.6g} of channel {channel} and {float(added.scale):.6g}, in "
                f"units of 2^-{shift}, move outputs by up to {float(error):.3g}; "
                f"{float(tolerance * full):.3g} is allowed"
            )
    return lines, skip
