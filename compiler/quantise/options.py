"""Options of quantisation: multipliers, range selection, granularity of weight scales."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tandem.compiler.errors import QuantisationError
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS, WeightOptions


class Mode(Enum):
    """The kind of multipliers in requantisation."""

    MULTIPLIER = "multiplier"
    """Any number, as M / 2^s: more exact."""
    POW2 = "pow2"
    """A power of two: all scales are powers of two, and no multiplication is needed."""


class Method(Enum):
    """The method that chooses a tensor's range from its values in calibration."""

    MAX = "max"
    """Up to the largest absolute value."""
    PERCENTILE = "percentile"
    """Up to a percentile of the absolute values."""
    MSE = "mse"
    """The range with the least mean square error of rounding and clipping."""


@dataclass(frozen=True, slots=True)
class QuantiseOptions:
    """Options of quantisation. Activations are symmetric int8 throughout, and so are
    weights when they are multiplied.

    Attributes
    ----------
    mode
        See `Mode`.
    method
        See `Method`.
    percentile
        The percentile of `Method.PERCENTILE`, 0 (excluded) to 100.
    per_channel
        Whether weights have a scale for each output channel, or one for the tensor.
    keep_float
        Names of what stays in real numbers: values, and nodes or operators of the model.
    weights
        The format of weights. A model that states its own scales keeps its weights.
    """

    mode: Mode = Mode.MULTIPLIER
    method: Method = Method.MSE
    percentile: float = 99.99
    per_channel: bool = True
    keep_float: tuple[str, ...] = ()
    weights: WeightOptions = INT8_WEIGHTS

    def __post_init__(self) -> None:
        if not 0 < self.percentile <= 100:
            raise QuantisationError(f"percentile is {self.percentile}: it has to lie in 0..100")
