"""The pass that gives the channels of a layer's results ranges alike, before they are rounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import NO_ATTRIBUTES
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.quantise.compressed.products import product_of
from tandem.compiler.quantise.compressed.samples import DataSamples
from tandem.compiler.quantise.features import by_feature, feature_shape
from tandem.compiler.quantise.histogram import Histogram, scale_of
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.points import int8_values
from tandem.compiler.quantise.real_readers import Readers

_WORTH: Final = 0.8
"""The noise that is left where a change is worth it, relative to that without."""
_WIDEST: Final = 16
"""The largest exponent of a factor."""


@dataclass(frozen=True, slots=True, eq=False)
class EqualiseResults:
    """Multiplies the weights of output channels by powers of two, and divides the results again.

    ::

        s = conv2d(x, w)            ->     s = conv2d(x, w * powers of two)
        y = add(s, b)                      e = add(s, b * powers of two)
        z = gelu(y)                        y = multiply(e, 1 / powers of two)
                                           z = gelu(y)

    An accelerator gives results as int8 of one scale, so that a channel of small numbers beside one
    of large ones has few steps. Powers of two make the pass exact in every bit, but for numbers
    next to zero. It is done where all that reads the results computes in real numbers, so that the
    division is part of a kernel of the processor, and where noise gets clearly less on the samples.

    Attributes
    ----------
    samples
        Samples of the results of products (`results_of`).
    """

    samples: DataSamples
    options: QuantiseOptions
    name: str = "equalise-results"

    def apply(self, function: Function) -> Function:
        """The function with equal channels. Functions that it calls, and bodies within it, are left
        as they are."""
        verify(function)
        types = infer(function)
        readers = Readers.of(function, frozenset(int8_values(function, types)))
        taken = set(types)
        changed: dict[str, NDArray[np.float64]] = {}
        ends: set[str] = set()
        for chain in readers.chains(types):
            factors = self._factors(chain) if readers.compute_in_real(chain[-1].name) else None
            if factors is not None:
                changed |= {let.name: factors for let in chain}
                ends.add(chain[-1].name)
        lets: list[Let] = []
        for let in function.body.lets:
            if let.name not in changed:
                lets.append(let)
                continue
            factors = changed[let.name]
            value = _times(let, factors, types)
            if let.name not in ends:
                lets.append(replace(let, value=value))
                continue
            even = unique_name(f"{let.name}_even", taken)
            lets.append(replace(let, name=even, value=value, origin=let.source))
            type_ = types[let.name]
            assert isinstance(type_, TensorType), "the result of a product"
            numbers = Constant((1 / factors).astype(np.float32).reshape(feature_shape(type_)))
            back = Call(OPERATORS["multiply"], (Var(even), numbers), NO_ATTRIBUTES)
            lets.append(replace(let, value=back))
        return replace(function, body=Body(tuple(lets), function.body.result))

    def _factors(self, chain: Sequence[Let]) -> NDArray[np.float64] | None:
        """What each output channel is multiplied with; None where it is not worth it."""
        product = product_of(chain[0])
        assert product is not None, "a chain begins with a product"
        channels = len(product.weights)
        values = self.samples.values(chain[-1].name)
        assert isinstance(chain[0].value, Call), "a product"
        if not values or not all(_is_bias(each, channels) for each in chain[0].value.args[2:]):
            return None
        rows = np.concatenate([by_feature(value, channels) for value in values]).astype(np.float64)
        ranges = np.abs(rows).max(0)
        known = ranges > 0
        if not known.any():
            return None
        logs = np.zeros(channels)
        logs[known] = np.median(np.log2(ranges[known])) - np.log2(ranges[known])
        factors = np.exp2(np.clip(np.rint(logs), -_WIDEST, _WIDEST))
        plain = self._noise(rows, np.ones(channels))
        return factors if self._noise(rows, factors) < _WORTH * plain else None

    def _noise(self, rows: NDArray[np.float64], factors: NDArray[np.float64]) -> float:
        """The mean square error of results that are rounded times factors."""
        histogram = Histogram()
        histogram.add(rows * factors, 1 / factors**2)
        step = scale_of(histogram, self.options)
        near = np.clip(np.rint(rows * factors / step), -127, 127) * step / factors
        return float(((near - rows) ** 2).mean())


def results_of(function: Function) -> set[str]:
    """The names of the values that the pass may round otherwise: products, with their biases."""
    types = infer(function)
    readers = Readers.of(function, frozenset())
    return {chain[-1].name for chain in readers.chains(types)}


def _is_bias(atom: Atom, channels: int) -> bool:
    """Whether an operand is a constant with a number for each channel."""
    return isinstance(atom, Constant) and atom.array.shape == (channels,)


def _times(let: Let, factors: NDArray[np.float64], types: Mapping[str, Type]) -> Call:
    """A product, or the sum with its bias, times the factors of output channels."""
    assert isinstance(let.value, Call), "it is computed"
    product = product_of(let)
    if product is None:
        type_ = types[let.name]
        assert isinstance(type_, TensorType), "the result of a product"
        numbers = factors.reshape(feature_shape(type_))
        args = (
            Constant((arg.array * numbers).astype(arg.array.dtype))
            if isinstance(arg, Constant)
            else arg
            for arg in let.value.args
        )
        return replace(let.value, args=tuple(args))
    data, _, *rest = let.value.args
    shape = (-1, *(1,) * (product.weights.ndim - 1))
    scaled: NDArray[Any] = product.weights * factors.reshape(shape)
    dtype = product.weights.dtype
    weights = Constant(np.moveaxis(scaled, 0, product.axis).astype(dtype))
    biases = [
        Constant((bias.array * factors).astype(bias.array.dtype))
        for bias in rest
        if isinstance(bias, Constant)
    ]
    return replace(let.value, args=(data, weights, *biases))
