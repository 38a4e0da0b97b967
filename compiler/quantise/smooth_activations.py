"""The pass that moves the range of activations into the weights that they are multiplied with.

The idea is SmoothQuant's (Xiao et al., ICML'23): some features of a transformer are a hundred times
as large as others, and one scale for all leaves those others few steps. A feature divided by a
number, and its weights multiplied by it, give the same product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import NO_ATTRIBUTES
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.quantise.compressed.products import (
    WeightedProduct,
    product_of,
    weighted_products,
)
from tandem.compiler.quantise.compressed.samples import DataSamples
from tandem.compiler.quantise.features import by_feature, feature_shape
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.real_readers import is_computed_in_real
from tandem.compiler.quantise.smooth_factors import SmoothFactors
from tandem.compiler.quantise.weight_rules import WeightRule

_MOST_ROWS: Final = 1024
"""Rows of data on which noise is measured."""


@dataclass(frozen=True, slots=True, eq=False)
class SmoothActivations:
    """Divides features of data by powers of two, and multiplies the weights that read them.

    ::

        n = layer_norm(x, ...)             n = layer_norm(x, ...)
        y = conv2d(n, w)           ->      d = multiply(n, powers of two, by channel)
                                           y = conv2d(d, w / these powers)

    Powers of two make the pass exact in every bit, but for numbers next to zero. It is done where
    data are computed in real numbers, so that the multiplication is part of a kernel of the
    processor; where all that reads the data are products with constant weights, or the data have
    another reader, which then reads them as they were; and only where the noise of results gets
    clearly less, on the samples.

    Attributes
    ----------
    samples
        Samples of the data of products.
    rules
        The formats of products that have others than the rest, by the product's name.
    """

    samples: DataSamples
    options: QuantiseOptions
    rules: Mapping[str, WeightRule] = field(default_factory=dict)
    name: str = "smooth-activations"

    def apply(self, function: Function) -> Function:
        """The function with smoothed data. Functions that it calls, and bodies within it, are left
        as they are."""
        verify(function)
        types = infer(function)
        lets = {let.name: let for let in function.body.lets}
        readers: dict[str, list[WeightedProduct]] = {}
        for product in weighted_products(function):
            if product.name in lets and product.groups == 1:
                readers.setdefault(product.data, []).append(product)
        factors = {
            name: found
            for name, products in readers.items()
            if is_computed_in_real(name, lets)
            and (found := self._factors(name, products)) is not None
        }
        return replace(function, body=_smoothed(function.body, types, factors))

    def _factors(
        self, name: str, products: Sequence[WeightedProduct]
    ) -> NDArray[np.float64] | None:
        """What each feature of the data is multiplied with; None where it is not worth it."""
        features = products[0].weights.shape[1]
        parts = [by_feature(value, features) for value in self.samples.values(name)]
        if not parts:
            return None
        whole = np.concatenate(parts)
        rows = some_rows(whole, _MOST_ROWS).astype(np.float64)
        ranges = np.abs(whole).max(0).astype(np.float64)
        return SmoothFactors(rows, ranges, products, self.options, self.rules).best()


def some_rows(rows: NDArray[Any], most: int) -> NDArray[Any]:
    """At most so many of the rows, drawn with a seed: at equal distances they could all be of the
    same places of sequences or images."""
    if len(rows) <= most:
        return rows
    chosen = np.random.default_rng(0).choice(len(rows), most, replace=False)
    return rows[np.sort(chosen)]


def _divided(product: WeightedProduct, factors: NDArray[np.float64]) -> Constant:
    """The product's weights divided by the factors of input features, as an operand."""
    shape = (1, -1, *(1,) * (product.weights.ndim - 2))
    divided = product.weights / factors.reshape(shape)
    return Constant(np.moveaxis(divided, 0, product.axis).astype(product.weights.dtype))


def _smoothed(
    body: Body, types: Mapping[str, Type], factors: Mapping[str, NDArray[np.float64]]
) -> Body:
    """The body whose products read the data times the factors, by the data's name."""
    taken = set(types)
    smooth: dict[str, str] = {}
    lets: list[Let] = []
    for let in body.lets:
        call = let.value
        product = product_of(let)
        if product is not None and product.data in smooth:
            assert isinstance(call, Call), "a product"
            constant = _divided(product, factors[product.data])
            args = (Var(smooth[product.data]), constant, *call.args[2:])
            let = replace(let, value=replace(call, args=args))
        lets.append(let)
        if let.name in factors:
            type_ = types[let.name]
            assert isinstance(type_, TensorType), "data of a product"
            numbers = factors[let.name].astype(np.float32).reshape(feature_shape(type_))
            name = smooth[let.name] = unique_name(f"{let.name}_smooth", taken)
            times = Call(OPERATORS["multiply"], (Var(let.name), Constant(numbers)), NO_ATTRIBUTES)
            lets.append(Let(name, times, origin=let.source))
    return Body(tuple(lets), body.result)
