"""What an error in each channel of an int8 tensor costs the values that are computed from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Call, Function, Let, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType
from tandem.compiler.quantise.compressed.products import WeightedProduct, product_of
from tandem.compiler.quantise.features import feature_shape
from tandem.compiler.quantise.fold_affine import by_channel
from tandem.compiler.quantise.real_readers import Readers, is_computed_in_real

Costs = NDArray[np.float64]


def error_costs(function: Function) -> dict[str, Costs]:
    """What a squared error of 1 costs in each channel of values, by name, as arrays that broadcast
    to the values; in all others every error costs the same.

    Channels that were multiplied for the sake of their ranges (`SmoothActivations`,
    `EqualiseResults`) are of one size in int8, and as unlike as ever in what is computed from them:
    a step of a channel that is divided by 64 again is worth 64 steps of one that is not. Known are

    - values that are multiplied with a constant for each channel and not read otherwise: the
      squared error of the result;
    - data of products with constant weights that are computed in real numbers: the squared error
      of the products' results, if errors of features are independent.

    Functions that it calls, and bodies within it, are left out.
    """
    types = infer(function)
    readers = Readers.of(function, frozenset())
    found: dict[str, Costs] = {}
    for name in readers.lets:
        type_, own = types[name], readers.of_value.get(name, ())
        if not isinstance(type_, TensorType) or type_.rank < 2 or not own:
            continue
        known = [reader for reader in own if reader is not None]
        if len(known) < len(own):
            continue
        costs = None
        if readers.returned != Var(name):
            costs = _of_multiplied(name, type_, known)
        if costs is None and is_computed_in_real(name, readers.lets):
            costs = _of_data(name, known)
        if costs is not None:
            found[name] = costs.reshape(feature_shape(type_))
    return found


def costs_of_data(products: Sequence[WeightedProduct]) -> Costs:
    """What a squared error of 1 in each feature of the data of products of ungrouped weights costs
    their results."""
    energies = [
        np.square(product.weights, dtype=np.float64).sum((0, *range(2, product.weights.ndim)))
        for product in products
    ]
    total: Costs = np.sum(energies, axis=0)
    return total


def _of_multiplied(name: str, type_: TensorType, readers: Sequence[Let]) -> Costs | None:
    """What errors cost in a value that is only multiplied with constants; None for another."""
    total: Costs = np.zeros(1)
    for reader in readers:
        match reader.value:
            case Call(callee=OpSpec(name="multiply"), args=(Var(), Constant() as constant)):
                pass
            case Call(callee=OpSpec(name="multiply"), args=(Constant() as constant, Var())):
                pass
            case _:
                return None
        factors = by_channel(constant, type_.shape)
        if factors is None:
            return None
        total = total + factors**2
    return total if total.size > 1 else None


def _of_data(name: str, readers: Sequence[Let]) -> Costs | None:
    """What errors cost in the data of products; None for what is no such data."""
    found = [product_of(reader) for reader in readers]
    products = [product for product in found if product is not None and product.data == name]
    if not products or any(product.groups > 1 for product in products):
        return None
    return costs_of_data(products)
