"""The quantised network whose weights are compressed as the options want them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.evaluate import NestedArray, Runner
from tandem.compiler.graph.nodes import Function
from tandem.compiler.quantise.compressed.calibrated import Gram
from tandem.compiler.quantise.compressed.compressor import Compression, Compressor
from tandem.compiler.quantise.compressed.formats import FormatChoice
from tandem.compiler.quantise.compressed.layer_costs import LayerCost, by_product
from tandem.compiler.quantise.compressed.network_loss import NetworkLoss
from tandem.compiler.quantise.compressed.products import WeightedProduct, weighted_products
from tandem.compiler.quantise.compressed.samples import DataSamples
from tandem.compiler.quantise.layer_names import layer_names
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.points import tensor_name
from tandem.compiler.quantise.quantised import Quantised
from tandem.compiler.quantise.weight_rules import WeightRule, rules_by_layer

Products = Mapping[str, WeightedProduct]
LayerCosts = Callable[[Function], Mapping[str, LayerCost]]
"""What the layers of a quantised network cost on a machine, by the names of their results."""
MOST_SAMPLES: Final = 16
"""Samples on which the loss of a network is measured."""


def products_of(real: Function) -> dict[str, WeightedProduct]:
    """The products whose weights may be compressed, by their tensors' names."""
    return {
        tensor_name(real, one, product.name): product
        for one in real.named.values()
        for product in weighted_products(one)
    }


def data_of(real: Function) -> dict[str, str]:
    """The tensor of each product's data, by the name of the product's own."""
    return {
        tensor_name(real, one, product.name): tensor_name(real, one, product.data)
        for one in real.named.values()
        for product in weighted_products(one)
    }


def tensors_of_products(real: Function) -> set[str]:
    """The tensors of the products' data and of their results."""
    found = data_of(real)
    return {*found, *found.values()}


def rules_of(real: Function, rules: Sequence[WeightRule]) -> dict[str, WeightRule]:
    """The rule of each product that one names, by the product's tensor.

    Raises
    ------
    QuantisationError
        A pattern of names matches no layer.
    """
    return rules_by_layer(rules, layer_names(real, products_of(real)))


def compressed_network(
    real: Function,
    samples: Sequence[Sequence[NestedArray]],
    run: Runner,
    options: QuantiseOptions,
    data: DataSamples,
    apply: Callable[[Compression], Quantised],
    costs: LayerCosts | None = None,
) -> Quantised:
    """The network quantised by `apply`, with formats of weights as the options say.

    Parameters
    ----------
    data
        Samples of the data of products.
    costs
        What layers of a quantised network cost, where they choose for a machine.

    Raises
    ------
    QuantisationError
        The loss is more than is allowed; the network has no product, or no result of floats whose
        loss could be measured; a pattern of names matches no layer.
    """
    products, tensors = products_of(real), data_of(real)
    if not products:
        raise QuantisationError(
            f"--weights {options.weights}: the network has no product with constant weights"
        )
    rules = rules_of(real, options.weights.rules)
    grams: dict[str, Gram | None] = {}

    def gram(name: str) -> Gram | None:
        if name not in grams:
            grams[name] = data.gram(tensors[name], products[name])
        return grams[name]

    def no_gram(_: str) -> Gram | None:
        return None

    compressor = Compressor(gram if options.weights.calibrated else no_gram, options.mode)
    measured: list[NetworkLoss] = []

    def decibels(network: Quantised) -> float:
        if not measured:
            measured.append(NetworkLoss.of(real, samples[:MOST_SAMPLES], run))
        return measured[0].decibels(network.function)

    def costs_of_products(network: Quantised) -> Mapping[str, LayerCost]:
        assert costs is not None, "it is asked for them"
        return by_product(costs(network.function), network.weights)

    choice = FormatChoice(
        options.weights,
        products,
        compressor,
        lambda formats, reasons: apply(Compression(compressor, formats, reasons)),
        decibels,
        rules,
        None if costs is None else costs_of_products,
    )
    return choice.network()
