"""The numbers that the weights of a layer may have in a format: multiples of scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.opspec import AnyOp
from tandem.compiler.quantise.compressed.coded import CodedWeights
from tandem.compiler.quantise.compressed.compressor import LayerFormat
from tandem.compiler.quantise.compressed.rounding import coded_weights
from tandem.compiler.quantise.histogram import LEVELS
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.weights import Weights, quantised_weights
from tandem.hw.weight_formats import spread_scales


@dataclass(frozen=True, slots=True)
class LayerGrid:
    """How the weights of a layer are rounded.

    Attributes
    ----------
    axis
        The axis of output channels.
    how
        The format of compressed weights; None for int8.
    """

    axis: int
    how: LayerFormat | None
    options: QuantiseOptions

    @property
    def operator(self) -> AnyOp:
        """The operator that rounds the weights, for scales."""
        return OPERATORS["fake_quantise" if self.how is None else "fake_encode"]

    @property
    def attributes(self) -> Attributes:
        """The operator's attributes."""
        if self.how is None:
            return self.operator.attributes(low=-LEVELS, high=LEVELS)
        return self.operator.attributes(table=self.how.form.table)

    def scale_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the scales of weights of this shape: one for each weight where groups have
        scales, else one for each output channel."""
        if self.how is not None and self.how.form.scaled:
            return shape
        return tuple(extent if at == self.axis else 1 for at, extent in enumerate(shape))

    def scales(self, weights: NDArray[Any]) -> NDArray[np.float32]:
        """The scales that quantisation chooses for weights, output channels first."""
        found = self._quantised(weights)
        if isinstance(found, CodedWeights) and found.form.scaled:
            spread = spread_scales(found.scales, found.group, 1, found.codes.shape[1])
            channels = found.channel_scales.reshape(-1, *(1,) * (spread.ndim - 1))
            steps = (spread * channels).astype(np.float32)
            return np.ascontiguousarray(np.moveaxis(steps, 0, self.axis))
        channels = found.channel_scales if isinstance(found, CodedWeights) else found.scales
        whole = np.broadcast_to(channels.astype(np.float32), len(weights))
        first = whole.reshape(-1, *(1,) * (weights.ndim - 1))
        return np.ascontiguousarray(np.moveaxis(first, 0, self.axis))

    def rounded(self, weights: NDArray[Any]) -> NDArray[np.float32]:
        """The weights as quantisation rounds them."""
        first = np.ascontiguousarray(np.moveaxis(weights, self.axis, 0))
        real = np.moveaxis(self._quantised(first).real, 0, self.axis)
        return np.ascontiguousarray(real, np.float32)

    def _quantised(self, first: NDArray[Any]) -> CodedWeights | Weights:
        if self.how is None:
            return quantised_weights(first, np.zeros(len(first)), 1.0, self.options)
        return coded_weights(first, self.how.form, self.how.group, mode=self.options.mode)


@dataclass(frozen=True, slots=True)
class RoundedLayer:
    """A layer whose weights are rounded by scales that are a parameter.

    Attributes
    ----------
    product
        The name of the layer's product.
    weights
        The name of its weights: a parameter, or what is computed from parameters that are weights.
    """

    product: str
    weights: str
    grid: LayerGrid
