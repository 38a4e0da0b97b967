"""The sum at the end of a residual block as one value: rounded once, exact in 32 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from compiler.errors import QuantisationError
from compiler.requantisation.alu_lowering import Goal, Line, goal_of
from compiler.requantisation.channels import (
    INT16,
    INT32,
    PerChannel,
    Whole,
    check_range,
    common_channels,
    joined,
    spread,
)
from compiler.requantisation.residual_lowering import (
    ResidualSteps,
    Skip,
    exact_residual_steps,
    has_exact_residual_steps,
)
from compiler.requantisation.scales import (
    ADDEND,
    Real,
    check_scale_errors,
    exact_scale,
    finest_lines,
    scales_and_biases,
)

__all__ = ["ResidualSpec"]


@dataclass(frozen=True, slots=True)
class ResidualSpec:
    """out = clip((acc * multiplier + addend + skip * skip_multiplier) >> shift, low, high).

    In integers without bounds; with half of 2^shift inside `addend` it rounds to nearest, halves
    towards plus infinity. A spec that exists can be computed exactly by the base ISA in 32 bits
    (`compiler.requantisation.residual_lowering` says why).

    Attributes
    ----------
    multiplier, addend
        As of `RequantSpec`; for the tensor, or a tuple with one for each channel.
    skip_multiplier
        0 to 2^31 - 1.
    shift
        0 to 31.
    low, high
        The least and the greatest output, within 32 bits.
    bound
        Accumulators are from -bound to bound; None for all of 32 bits.
    skip_limits
        The least and the greatest value that is added, within 16 bits.

    Raises
    ------
    QuantisationError
        A number out of its range, counts of channels that differ, or sums that exceed 32 bits.
    """

    multiplier: PerChannel
    addend: PerChannel
    skip_multiplier: int
    shift: int
    low: int
    high: int
    bound: int | None = None
    skip_limits: tuple[int, int] = (-128, 127)

    def __post_init__(self) -> None:
        check_range("multiplier", self.multiplier, 0, INT32[1])
        check_range("addend", self.addend, *ADDEND)
        check_range("skip_multiplier", self.skip_multiplier, 0, INT32[1])
        check_range("shift", self.shift, 0, 31)
        goal_of(self.low, self.high, self.bound)
        check_range("least skipped value", self.skip_limits[0], *INT16)
        check_range("greatest skipped value", self.skip_limits[1], self.skip_limits[0], INT16[1])
        common_channels(multiplier=self.multiplier, addend=self.addend)
        if not has_exact_residual_steps(*self._asked):
            raise QuantisationError(
                f"acc * M + C + skip * N exceeds 32 bits: M up to "
                f"{max(spread(self.multiplier, None))}, N {self.skip_multiplier}, s {self.shift}, "
                f"outputs {self.low}..{self.high}; take a smaller shift, range or bound"
            )

    @classmethod
    def from_scales(
        cls,
        scales: Real,
        skip_scale: float | Fraction,
        bias: Whole = 0,
        low: int = -128,
        high: int = 127,
        *,
        zero_point: int = 0,
        skip_zero_point: int = 0,
        bound: int | None = None,
        skip_limits: tuple[int, int] = (-128, 127),
        tolerance: float | Fraction = Fraction(1, 128),
    ) -> Self:
        """out = clip(round((acc + bias) * scale + (skip - its zero) * skip_scale) + zero), nearly.

        A scale becomes M / 2^s, with the largest s up to 23 that 32 bits allow, one for all.

        Parameters
        ----------
        scales
            Real numbers from 0 up: one, or one for each channel.
        skip_scale
            Of what is added.
        bias
            Added to accumulators; 32 bits; one, or one for each channel.
        low, high, bound, skip_limits
            As in the value.
        zero_point, skip_zero_point
            Of outputs and of what is added.
        tolerance
            How far scales that are not exact may move an output before it is rounded, as a fraction
            of the largest output that is not clipped.

        Raises
        ------
        QuantisationError
            As in the value; a scale that is negative, no number or over 2^31; an error over the
            tolerance.
        """
        each, biases, channels = scales_and_biases(scales, bias)
        added = exact_scale(skip_scale)
        check_range("zero_point", zero_point, *INT32)
        check_range("skip_zero_point", skip_zero_point, *INT16)
        goal = goal_of(low, high, bound)

        def is_exact(found: Sequence[Line], multiplier: int) -> bool:
            return has_exact_residual_steps(found, Skip(multiplier, *skip_limits), goal)

        lines, skip = finest_lines(
            each,
            biases,
            zero_point,
            is_exact,
            f"scales up to {float(max(each)):.6g} and {float(added):.6g}: with no shift is their "
            f"sum exact in 32 bits for outputs {low}..{high}",
            skip_scale=added,
            skip_zero_point=skip_zero_point,
        )
        shift = lines[0].shift
        most = max(abs(limit - skip_zero_point) for limit in skip_limits)
        check_scale_errors(
            each,
            biases,
            lines,
            zero_point,
            goal,
            tolerance,
            lambda _: f" and {float(added):.6g}, in units of 2^-{shift}, move",
            added=added * most,
            added_error=abs(Fraction(skip, 1 << shift) - added) * most,
        )
        return cls(
            joined([line.multiplier for line in lines], channels),
            joined([line.addend for line in lines], channels),
            skip,
            shift,
            low,
            high,
            bound,
            skip_limits,
        )

    @property
    def channels(self) -> int | None:
        """How many channels there are; None where all numbers are the tensor's."""
        return common_channels(multiplier=self.multiplier, addend=self.addend)

    def steps(self) -> ResidualSteps:
        """The fewest passes of the base ISA's ALU that do the same."""
        steps = exact_residual_steps(*self._asked)
        assert steps is not None, "the constructor refuses such a spec"
        return steps

    @property
    def _asked(self) -> tuple[list[Line], Skip, Goal]:
        pairs = zip(
            spread(self.multiplier, self.channels), spread(self.addend, self.channels), strict=True
        )
        lines = [Line(m, c, self.shift) for m, c in pairs]
        skip = Skip(self.skip_multiplier, *self.skip_limits)
        return lines, skip, goal_of(self.low, self.high, self.bound)
