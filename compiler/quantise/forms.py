"""Forms of a network's values during quantisation: int8, pending accumulators and others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.nodes import Let, Var
from tandem.compiler.quantise.weights import Weights


@dataclass(frozen=True, slots=True)
class Scale:
    """The affine scale of int8 integers: a real number is (integer - zero) * step.

    Attributes
    ----------
    of_zeros
        Whether it was chosen for a tensor that had nothing but zeros, so that any other will do.
    """

    step: float
    zero: int = 0
    of_zeros: bool = field(default=False, compare=False)

    def nearest(self, real: float) -> int:
        """The integer nearest to a real number, halves to even, not clipped to int8."""
        return int(np.rint(real / self.step)) + self.zero


@dataclass(frozen=True, slots=True)
class Int8Value:
    """An int8 tensor and its scale."""

    var: Var
    scale: Scale


@dataclass(frozen=True, slots=True)
class Movement:
    """An operator that only moves the elements of its operand, or repeats or drops some."""

    operator: str
    attributes: Attributes


@dataclass(frozen=True, slots=True, eq=False)
class PendingAccumulator:
    """An int32 accumulator that has not been requantised yet.

    The real number is (acc + bias) * scales, plus the residual, kept within low..high.

    Attributes
    ----------
    acc
        int32, with channels along axis 1.
    scales, bias
        One for each channel or for the tensor: [C] or [1].
    bound
        The largest absolute value of `acc`.
    always_int8
        Whether the value becomes int8 also for users in real numbers: accelerators give only int8.
    moves
        Applied in order to the value once it is int8: limits and scales are those before.
    """

    acc: Var
    scales: NDArray[np.float64]
    bias: NDArray[np.int64]
    bound: int
    residual: Int8Value | None = None
    low: float | None = None
    high: float | None = None
    always_int8: bool = False
    moves: tuple[Movement, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether there is no residual, no limit and no movement yet."""
        limits = self.low, self.high
        return self.residual is None and limits == (None, None) and not self.moves

    def within(self, low: float | None, high: float | None) -> PendingAccumulator:
        """The accumulator clipped to low..high too; if low > high, `high` wins, as in `clip`."""
        lows = [limit for limit in (self.low, low) if limit is not None]
        highs = [limit for limit in (self.high, high) if limit is not None]
        return replace(self, low=max(lows, default=None), high=min(highs, default=None))


@dataclass(frozen=True, slots=True)
class Concatenation:
    """A concatenation of the values `names`, which must become int8 of one scale first.

    Attributes
    ----------
    attributes
        Attributes of `concat`: the axis.
    moves
        Applied in order to the concatenation once it is int8.
    """

    names: tuple[str, ...]
    attributes: Attributes
    moves: tuple[Movement, ...] = ()


@dataclass(frozen=True, slots=True)
class Upsampling:
    """An image that repeats the pixels of the value `of`, which must become int8 first: it is
    smaller, and has the scale of its other users, if it can.

    Attributes
    ----------
    attributes
        Attributes of `upsample`: the factors.
    """

    of: Var
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class StatedInt8:
    """An integer tensor of a QDQ network: the value `of`, at the scale that the network states."""

    of: Var
    scale: Scale


Form: TypeAlias = PendingAccumulator | Concatenation | Upsampling | StatedInt8 | Weights


@dataclass(slots=True)
class ValueForms:
    """The forms in which a value exists so far.

    Attributes
    ----------
    let
        The original computation in real numbers; None for parameters.
    emitted
        Whether the value was emitted under its old name and type.
    form
        The integer form that the value can be made from; None without one.
    int8
        The value as int8, with the scale of the value.
    int8_of_scale
        The value as int8, by scale.
    """

    let: Let | None
    emitted: bool = False
    form: Form | None = None
    int8: Int8Value | None = None
    int8_of_scale: dict[Scale, Int8Value] = field(default_factory=dict)
