"""How a network is quantised."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from compiler.errors import QuantisationError

__all__ = ["Method", "Mode", "QuantiseOptions"]


class Mode(Enum):
    """What a sum of products is multiplied by to become an output."""

    MULTIPLIER = "multiplier"
    """Any number, as M / 2^s: the more exact."""
    POW2 = "pow2"
    """A power of two: all scales are such, and no multiplication is needed."""


class Method(Enum):
    """How the range of a tensor is chosen from the values that it had in calibration."""

    MAX = "max"
    """Everything that was seen."""
    PERCENTILE = "percentile"
    """All but the few that are farthest out."""
    MSE = "mse"
    """Whatever makes the mean square of errors, of rounding and of clipping, least."""


@dataclass(frozen=True, slots=True)
class QuantiseOptions:
    """Choices, with good defaults: weights and activations are symmetric int8 throughout.

    Attributes
    ----------
    mode
        See `Mode`.
    method
        See `Method`.
    percentile
        For that method: how much of a hundred is within the range.
    per_channel
        Weights have a scale for each output channel, or one for the tensor.
    """

    mode: Mode = Mode.MULTIPLIER
    method: Method = Method.MSE
    percentile: float = 99.99
    per_channel: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.percentile <= 100:
            raise QuantisationError(f"percentile is {self.percentile}: it has to lie in 0..100")
