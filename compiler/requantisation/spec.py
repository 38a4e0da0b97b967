"""Requantisation as one value: sums of products become small integers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from compiler.errors import QuantisationError
from compiler.ir.dtypes import smallest_int
from compiler.requantisation.alu_lowering import Line, exact_steps, goal_of, has_exact_steps
from compiler.requantisation.alu_steps import AluStep
from compiler.requantisation.channels import (
    INT32,
    PerChannel,
    Whole,
    along,
    check_range,
    checked_int32,
    common_channels,
    joined,
    spread,
    whole,
)
from compiler.requantisation.scales import (
    ADDEND,
    Real,
    check_scale_errors,
    finest_lines,
    scales_and_biases,
)

__all__ = ["RequantSpec"]


@dataclass(frozen=True, slots=True)
class RequantSpec:
    """out = clip((acc * multiplier + addend) >> shift, low, high), in integers without bounds.

    With half of 2^shift inside `addend`, as the constructors put it there, this rounds to nearest,
    halves towards plus infinity. A spec that exists can be computed exactly by the base ISA in 32
    bits, for every accumulator that it allows (`compiler.requantisation.alu_lowering` says why).

    Attributes
    ----------
    multiplier
        M, 0 to 2^31 - 1; for the tensor, or a tuple with one for each channel.
    addend
        C: bias, zero point and rounding together; at most 2^62 either way; likewise.
    shift
        s, 0 to 31; likewise.
    low, high
        The least and the greatest output, both included and within 32 bits.
    bound
        Accumulators are from -bound to bound; None for all of 32 bits. A smaller one saves passes.

    Raises
    ------
    QuantisationError
        A number out of its range, counts of channels that differ, or sums that exceed 32 bits
        where no clipping of accumulators prevents it; a smaller shift or bound then helps.
    """

    multiplier: PerChannel
    addend: PerChannel
    shift: PerChannel
    low: int
    high: int
    bound: int | None = None

    def __post_init__(self) -> None:
        check_range("multiplier", self.multiplier, 0, INT32[1])
        check_range("addend", self.addend, *ADDEND)
        check_range("shift", self.shift, 0, 31)
        goal = goal_of(self.low, self.high, self.bound)
        common_channels(multiplier=self.multiplier, addend=self.addend, shift=self.shift)
        if not has_exact_steps(self._lines, goal):
            raise QuantisationError(
                f"acc * M + C exceeds 32 bits: M up to {max(spread(self.multiplier, None))}, s up "
                f"to {max(spread(self.shift, None))}, outputs {goal.low}..{goal.high}, "
                f"accumulators {goal.first}..{goal.last}; take a smaller shift, range or bound"
            )

    @classmethod
    def pow2(
        cls,
        shift: Whole,
        bias: Whole = 0,
        low: int = -128,
        high: int = 127,
        *,
        bound: int | None = None,
    ) -> Self:
        """out = clip(round((acc + bias) / 2^shift), low, high), halves towards plus infinity.

        `shift` (0 to 31) and `bias` (32 bits) are numbers, or sequences with one for each channel.
        Raises `QuantisationError` like the value.
        """
        shifts, biases = whole("shift", shift), whole("bias", bias)
        check_range("shift", shifts, 0, 31)
        check_range("bias", biases, *INT32)
        channels = common_channels(shift=shifts, bias=biases)
        pairs = zip(spread(biases, channels), spread(shifts, channels), strict=True)
        addend = joined([b + (1 << s >> 1) for b, s in pairs], channels)
        return cls(1, addend, shifts, low, high, bound)

    @classmethod
    def from_scales(
        cls,
        scales: Real,
        bias: Whole = 0,
        low: int = -128,
        high: int = 127,
        *,
        zero_point: int = 0,
        bound: int | None = None,
        tolerance: float | Fraction = Fraction(1, 128),
    ) -> Self:
        """out = clip(round((acc + bias) * scale) + zero_point, low, high), nearly.

        A scale becomes M / 2^s: M the nearest integer, s the largest up to 23 that 32 bits allow,
        one for all channels. The relative error is at most 1 / (2 M - 1), so at most 2^-(k - 1) for
        an M of k bits. From then on all is exact.

        Parameters
        ----------
        scales
            Real numbers from 0 up, taken at their exact values: one, or one for each channel.
        bias
            Added to accumulators; 32 bits; one, or one for each channel.
        low, high, bound
            As in the value.
        zero_point
            Added to outputs; 32 bits.
        tolerance
            How far M / 2^s may move an output before it is rounded, as a fraction of the largest
            output that is not clipped. The default is one unit of an 8-bit output.

        Raises
        ------
        QuantisationError
            As in the value; a scale that is negative, no number or over 2^31; an error over the
            tolerance.
        """
        each, biases, channels = scales_and_biases(scales, bias)
        check_range("zero_point", zero_point, *INT32)
        goal = goal_of(low, high, bound)
        lines, _ = finest_lines(
            each,
            biases,
            zero_point,
            lambda found, _: has_exact_steps(found, goal),
            f"scales up to {float(max(each)):.6g}, biases {min(biases)}..{max(biases)}: with no "
            f"shift is {low}..{high} exact in 32 bits for accumulators {goal.first}..{goal.last}",
        )
        check_scale_errors(
            each,
            biases,
            lines,
            zero_point,
            goal,
            tolerance,
            lambda line: f", as {line.multiplier} / 2^{line.shift}, moves",
        )
        return cls(
            joined([line.multiplier for line in lines], channels),
            joined([line.addend for line in lines], channels),
            lines[0].shift,
            low,
            high,
            bound,
        )

    @property
    def channels(self) -> int | None:
        """How many channels there are; None where all numbers are the tensor's."""
        return common_channels(multiplier=self.multiplier, addend=self.addend, shift=self.shift)

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest accumulator."""
        goal = goal_of(self.low, self.high, self.bound)
        return goal.first, goal.last

    @property
    def dtype(self) -> np.dtype[np.signedinteger[Any]]:
        """The smallest signed type that holds every output: int8, int16 or int32."""
        return smallest_int(self.low, self.high).numpy

    def reference(
        self, acc: npt.NDArray[np.signedinteger[Any]], axis: int | None = None
    ) -> npt.NDArray[np.signedinteger[Any]]:
        """The outputs for `acc`, of type `dtype`.

        Parameters
        ----------
        acc
            Signed integers of any shape, within `limits`.
        axis
            The dimension of `acc` that counts channels; needed where there are many.

        Raises
        ------
        QuantisationError
            An accumulator outside `limits`, or an axis that does not suit the channels.
        """
        wide = checked_int32("reference", acc, self.limits).astype(np.int64)
        m, c, s = (
            along("reference", each, acc.shape, axis)
            for each in (self.multiplier, self.addend, self.shift)
        )
        outputs: npt.NDArray[np.int64] = np.clip((wide * m + c) >> s, self.low, self.high)
        return outputs.astype(self.dtype)

    def steps(self) -> tuple[AluStep, ...]:
        """The fewest passes of the base ISA's ALU that do the same, first to last.

        Exact for every accumulator within `limits`, though the machine wraps at 32 bits.
        """
        steps = exact_steps(self._lines, goal_of(self.low, self.high, self.bound))
        assert steps is not None, "the constructor refuses such a spec"
        return steps

    @property
    def _lines(self) -> tuple[Line, ...]:
        numbers = (self.multiplier, self.addend, self.shift)
        return tuple(map(Line, *(spread(each, self.channels) for each in numbers)))
