"""The factors of a smoothed activation's features: candidates, and the noise that they leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.quantise.compressed.formats import refusal
from tandem.compiler.quantise.compressed.grouping import Grouping
from tandem.compiler.quantise.compressed.nearest import NearestEntries
from tandem.compiler.quantise.compressed.products import WeightedProduct
from tandem.compiler.quantise.histogram import Histogram, scale_of
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tandem.compiler.quantise.weights import quantised_weights
from tandem.hw.weight_formats import WeightFormat

_STRENGTHS: Final = (0.25, 0.4, 0.5, 0.6, 0.75, 0.9)
"""How much of the range goes into weights, from none (0) to all of it (1)."""
_CAPS: Final = range(1, 7)
"""Powers of two by which the largest features are cut, and no others."""
_WORTH: Final = 0.8
"""The noise that is left where a change is worth it, relative to that without."""
_MOST_OUTPUTS: Final = 128
"""Output channels of a product on which noise is measured."""
_WIDEST: Final = 16
"""The largest exponent of a factor."""


@dataclass(frozen=True, eq=False)
class SmoothFactors:
    """What is known about the data of products when factors of their features are chosen.

    Attributes
    ----------
    rows
        Samples of the data on which noise is measured; [rows, features].
    ranges
        The largest absolute value of each feature in all samples.
    products
        The products that read the data, of ungrouped weights.
    rules
        The formats of products that have others than the rest, by the product's name.
    """

    rows: NDArray[np.float64]
    ranges: NDArray[np.float64]
    products: Sequence[WeightedProduct]
    options: QuantiseOptions
    rules: Mapping[str, WeightRule] = field(default_factory=dict)

    def best(self) -> NDArray[np.float64] | None:
        """What each feature is multiplied with for the least noise; None where it gains little."""
        if not (self.ranges > 0).any() or not (self._largest > 0).any():
            return None
        ones = np.ones(len(self.ranges))
        plain = self.noise(ones)
        least, found = plain, ones
        for factors in self._strengths():
            least, found = min((least, found), (self.noise(factors), factors), key=_noise_of)
        for start in (ones, found) if found is not ones else (ones,):
            for factors in self._capped(start):
                least, found = min((least, found), (self.noise(factors), factors), key=_noise_of)
        return found if least < _WORTH * plain else None

    def noise(self, factors: NDArray[np.float64]) -> float:
        """The mean square error of the products' results, of data and of weights, as if the errors
        of features were independent."""
        data = self.rows * factors
        # What errors of data cost, and errors of weights by feature.
        costs, errors = np.zeros(len(factors)), np.zeros(len(factors))
        for product in self.products:
            shape = (1, -1, *(1,) * (product.weights.ndim - 2))
            # Channels are rounded one by one, so that some of them tell of all.
            some = product.weights[:: -(-len(product.weights) // _MOST_OUTPUTS)]
            weights = some / factors.reshape(shape)
            axes, share = (0, *range(2, weights.ndim)), len(product.weights) / len(some)
            costs += (weights**2).sum(axes) * share
            errors += ((self._rounded(product, weights) - weights) ** 2).sum(axes) * share
        histogram = Histogram()
        histogram.add(data, costs)
        step = scale_of(histogram, self.options)
        off = np.clip(np.rint(data / step), -127, 127) * step - data
        return float(costs @ (off**2).mean(0) + errors @ (data**2).mean(0))

    @cached_property
    def _largest(self) -> NDArray[np.float64]:
        """The largest absolute weight that reads each feature."""
        features = len(self.ranges)
        rows = [
            np.moveaxis(product.weights, 1, -1).reshape(-1, features) for product in self.products
        ]
        found: NDArray[np.float64] = np.max([np.abs(each).max(0) for each in rows], axis=0)
        return found.astype(np.float64)

    def _strengths(self) -> Iterator[NDArray[np.float64]]:
        """Powers of two near the factors that move a part of the data's range into weights."""
        known = (self.ranges > 0) & (self._largest > 0)
        for strength in _STRENGTHS:
            logs = np.zeros(len(self.ranges))
            logs[known] = -strength * np.log2(self.ranges[known])
            logs[known] += (1 - strength) * np.log2(self._largest[known])
            logs[known] -= np.median(logs[known])
            yield np.exp2(np.clip(np.rint(logs), -_WIDEST, _WIDEST))

    def _capped(self, start: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """Factors that also bring the features of the largest ranges to a limit: a few neurons of a
        transformer are as large for one token as nothing else is."""
        ranges = np.maximum(self.ranges * start, np.finfo(np.float64).tiny)
        for down in _CAPS:
            beyond = np.ceil(np.log2(ranges / ranges.max()) + down)
            yield start * np.exp2(-np.clip(beyond, 0, _WIDEST))

    def _rounded(self, product: WeightedProduct, weights: NDArray[Any]) -> NDArray[Any]:
        """The product's weights after a change, as they will be rounded, about."""
        kind, group = self.options.weights.of_layer(self.rules.get(product.name))
        form = kind.form
        if form is None or not form.scaled or refusal(product, form):
            return quantised_weights(weights, np.zeros(len(weights)), 1.0, self.options).real
        return _nearest(weights, form, group)


def _nearest(weights: NDArray[Any], form: WeightFormat, group: int) -> NDArray[np.float32]:
    """Weights rounded in a format whose groups have scales of any real number: quickly."""
    grouping = Grouping(weights.shape, group)
    rows = grouping.rows(weights).astype(np.float32)
    largest = np.maximum.reduceat(np.abs(rows), grouping.starts, axis=1)
    steps = grouping.spread(largest / max(abs(value) for value in form.table))
    steps[steps == 0] = 1
    found: NDArray[np.float32] = grouping.weights(
        NearestEntries.of(form).value(rows / steps) * steps
    )
    return found


def _noise_of(pair: tuple[float, NDArray[np.float64]]) -> float:
    return pair[0]
