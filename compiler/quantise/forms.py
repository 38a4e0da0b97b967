"""In what forms a value of a network exists while it is quantised."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from compiler.graph.attributes import Attributes
from compiler.graph.nodes import Let, Var
from compiler.quantise.weights import Weights

__all__ = ["Encoded", "Form", "Joined", "Known", "Scale", "Small", "Sums"]


@dataclass(frozen=True, slots=True)
class Scale:
    """A real number is (integer - zero) * step, with an integer of int8."""

    step: float
    zero: int = 0

    def nearest(self, real: float) -> int:
        """The integer for a number, halves to even, whether int8 holds it or not."""
        return int(np.rint(real / self.step)) + self.zero


@dataclass(frozen=True, slots=True)
class Small:
    """An int8 tensor."""

    var: Var
    scale: Scale


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums of products, of which no outputs have been made yet.

    The real number is (acc + bias) * scales, plus what is skipped to here, kept within low..high.

    Attributes
    ----------
    acc
        int32, with channels along axis 1.
    scales, bias
        [C] or [1].
    bound
        The largest absolute value of `acc`.
    narrow
        They become int8 also where real numbers come next, as an accelerator can give nothing else.
    """

    acc: Var
    scales: NDArray[np.float64]
    bias: NDArray[np.int64]
    bound: int
    skip: Small | None = None
    low: float | None = None
    high: float | None = None
    narrow: bool = False

    @property
    def plain(self) -> bool:
        """Nothing is skipped to them, nothing clipped."""
        return self.skip is None and self.low is None and self.high is None

    def within(self, low: float | None, high: float | None) -> Sums:
        """Clipped further; `high` wins, as in `clip`."""
        lows = [each for each in (self.low, low) if each is not None]
        highs = [each for each in (self.high, high) if each is not None]
        return replace(self, low=max(lows, default=None), high=min(highs, default=None))


@dataclass(frozen=True, slots=True)
class Joined:
    """Tensors one after the other, which have to have one scale first.

    Attributes
    ----------
    attributes
        Of `concat`: along which axis.
    """

    names: tuple[str, ...]
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Encoded:
    """An integer tensor of the network: another value, of a scale that the network says."""

    of: Var
    scale: Scale


Form: TypeAlias = Sums | Joined | Encoded | Weights


@dataclass(slots=True)
class Known:
    """What is known of a value.

    Attributes
    ----------
    let
        How it was computed in real numbers; None for parameters.
    emitted
        It exists as it was, under its name.
    form
        What it can be made from.
    own
        It as int8, with the scale that was chosen for it.
    small
        It as int8, for each scale that was asked for.
    """

    let: Let | None
    emitted: bool = False
    form: Form | None = None
    own: Small | None = None
    small: dict[Scale, Small] = field(default_factory=dict)
