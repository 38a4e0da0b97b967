"""The pass that gives the channels of a layer's results ranges alike, before they are rounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import NO_ATTRIBUTES
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import bodies, names_in, names_of
from tandem.compiler.quantise.compressed.products import WeightedProduct, product_of
from tandem.compiler.quantise.compressed.samples import DataSamples
from tandem.compiler.quantise.histogram import Histogram, scale_of
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.points import int8_values
from tandem.compiler.quantise.rules import DATA_MOVEMENT, RULES
from tandem.compiler.quantise.smooth_activations import by_feature

_WORTH: Final = 0.8
"""The noise that is left where a change is worth it, relative to that without."""
_WIDEST: Final = 16
"""The largest exponent of a factor."""


@dataclass(frozen=True, slots=True, eq=False)
class EqualiseResults:
    """Multiplies the weights of output channels by powers of two, and divides the results again.

    ::

        y = conv2d(x, w, b)         ->     e = conv2d(x, w * powers of two, b * powers of two)
        z = gelu(y)                        y = multiply(e, 1 / powers of two)
                                           z = gelu(y)

    An accelerator gives results as int8 of one scale, so that a channel of small numbers beside one
    of large ones has few steps. Powers of two make the pass exact in every bit, but for numbers
    next to zero. It is done where all that reads the results computes in real numbers, so that the
    division is part of a kernel of the processor, and where noise gets clearly less on the samples.

    Attributes
    ----------
    samples
        Samples of the results of products.
    """

    samples: DataSamples
    options: QuantiseOptions
    name: str = "equalise-results"

    def apply(self, function: Function) -> Function:
        """The function with equal channels. Functions that it calls, and bodies within it, are left
        as they are."""
        verify(function)
        types = infer(function)
        readers = _Readers.of(function, frozenset(int8_values(function, types)))
        taken = set(types)
        lets: list[Let] = []
        for let in function.body.lets:
            product = product_of(let)
            factors = None
            if product is not None and readers.compute_in_real(let.name):
                factors = self._factors(let, product)
            if product is None or factors is None:
                lets.append(let)
                continue
            even = unique_name(f"{let.name}_even", taken)
            lets.append(replace(let, name=even, value=_times(let, product, factors)))
            shape = (-1, *(1,) * max(product.weights.ndim - 2, 0))
            numbers = Constant((1 / factors).astype(np.float32).reshape(shape))
            back = Call(OPERATORS["multiply"], (Var(even), numbers), NO_ATTRIBUTES)
            lets.append(replace(let, value=back))
        return replace(function, body=Body(tuple(lets), function.body.result))

    def _factors(self, let: Let, product: WeightedProduct) -> NDArray[np.float64] | None:
        """What each output channel is multiplied with; None where it is not worth it."""
        channels = len(product.weights)
        values = self.samples.values(let.name)
        assert isinstance(let.value, Call), "a product"
        if not values or not all(_is_bias(each, channels) for each in let.value.args[2:]):
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
        histogram.add(rows * factors)
        step = scale_of(histogram, self.options)
        near = np.clip(np.rint(rows * factors / step), -127, 127) * step / factors
        return float(((near - rows) ** 2).mean())


@dataclass(frozen=True, slots=True)
class _Readers:
    """Who reads each value of a body.

    Attributes
    ----------
    of_value
        The values that read it; None for one that a body within reads.
    returned
        The result of the body.
    int8
        The values that become int8.
    """

    of_value: Mapping[str, tuple[Let | None, ...]]
    returned: Atom
    int8: frozenset[str]

    @classmethod
    def of(cls, function: Function, int8: frozenset[str]) -> _Readers:
        found: dict[str, tuple[Let | None, ...]] = {}
        for let in function.body.lets:
            within = {name for body in bodies(let.value) for name in names_in(body)}
            for name in names_of(let.value) | within:
                reader = None if name in within else let
                found[name] = (*found.get(name, ()), reader)
        return cls(found, function.body.result, int8)

    def compute_in_real(self, name: str) -> bool:
        """Whether all that reads a value is computed in real numbers."""
        readers = self.of_value.get(name, ())
        return bool(readers) and self.returned != Var(name) and all(map(self._is_real, readers))

    def _is_real(self, reader: Let | None) -> bool:
        if reader is None or reader.name in self.int8:
            return False
        value = reader.value
        if not isinstance(value, Call) or not isinstance(value.callee, OpSpec):
            return False
        operator = value.callee.name
        if operator in DATA_MOVEMENT:
            return self.compute_in_real(reader.name)
        return operator not in RULES or RULES[operator].on_demand


def _is_bias(atom: Atom, channels: int) -> bool:
    """Whether an operand is a constant with a number for each channel."""
    return isinstance(atom, Constant) and atom.array.shape == (channels,)


def _times(let: Let, product: WeightedProduct, factors: NDArray[np.float64]) -> Call:
    """The product with weights and bias times the factors of output channels."""
    assert isinstance(let.value, Call), "a product"
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
