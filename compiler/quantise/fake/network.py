"""Networks that compute, in real numbers, what they will compute quantised, and can be trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.evaluate import NestedArray, Runner
from tandem.compiler.graph.nodes import Atom, Call, Function, Let, Var
from tandem.compiler.graph.passes import FoldConstants, transform
from tandem.compiler.graph.visit import substitute, use_counts
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.compressed.compressor import LayerFormat
from tandem.compiler.quantise.compressed.formats import refusal
from tandem.compiler.quantise.compressed.products import WeightedProduct, product_of
from tandem.compiler.quantise.compressed_network import rules_of
from tandem.compiler.quantise.fake.layer_grid import LayerGrid, RoundedLayer
from tandem.compiler.quantise.fake.writer import FakeWriter
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class FakeQuantised:
    """A network whose weights and int8 values are rounded, with straight-through gradients.

    Scales are parameters of it: those of the weights change with the weights, those of values with
    what the network computes. Between steps of training they may stay as they are. What stands in
    branches, loops and called functions stays in real numbers.

    Attributes
    ----------
    function
        The network. It has the parameters of the one in real numbers, and then one for each scale.
    real
        The network in real numbers; layers whose weights are constants have been rounded.
    layers
        The layers whose weights are rounded, by the name of the parameter with their scales.
    points
        The parameters with the scales of int8 values, by the values' names.
    """

    function: Function
    real: Function
    layers: Mapping[str, RoundedLayer]
    points: Mapping[str, str]
    _calibration: _Calibration

    def rounded(self, weights: Mapping[str, Array]) -> dict[str, Array]:
        """The weights as their formats have them: those of the network that was trained.

        Quantisation with the same options keeps them as they are. Weights that are not those of
        layers alone, such as biases, or a table that is a layer's too, stay as they are.
        """
        counts = use_counts(self.real.body)
        found = dict(weights)
        for name in weights:
            grids = [layer.grid for layer in self.layers.values() if layer.weights == name]
            if grids and len(grids) == counts[name] and len(set(grids)) == 1:
                found[name] = grids[0].rounded(weights[name])
        return found

    def scales(self, weights: Mapping[str, Array]) -> dict[str, Array]:
        """The scales that quantisation chooses for these weights, in the order of the parameters.

        Raises
        ------
        QuantisationError
            A value is infinite or NaN.
        """
        chosen = self._calibration.scales(self.real, self.rounded(weights))
        products = self._calibration.products(self.real, weights)
        of_weights = {
            param: layer.grid.scales(products[layer.product].weights)
            for param, layer in self.layers.items()
        }
        steps = {param: chosen[name].step for name, param in self.points.items()}
        found = of_weights | {name: np.array(step, np.float32) for name, step in steps.items()}
        return {
            param.name: found[param.name] for param in self.function.params if param.name in found
        }


def fake_quantised(
    function: Function,
    weights: Mapping[str, Array],
    samples: Iterable[Sequence[NestedArray]],
    run: Runner,
    options: QuantiseOptions,
    targets: Sequence[Target[Any]] = (),
) -> FakeQuantised:
    """A network that computes with the weights and int8 values that its quantised form will have.

    Parameters
    ----------
    function
        A network in real numbers, some of whose parameters are weights.
    weights
        The values of these parameters, by name.
    samples
        Samples of the other parameters, for `calibrate`.
    run, options, targets
        As of `quantise_network`. Each layer has one format: that of all, or of a rule.

    Raises
    ------
    QuantisationError
        As of `quantise_network`; layers would choose their formats, or ranges are moved into
        weights; no layer has weights that are parameters.
    """
    if options.weights.chooses or options.weights.smooth:
        asked = "formats that layers choose" if options.weights.chooses else "smoothing"
        raise QuantisationError(
            f"training with weights in {options.weights}: {asked} would change the layers while "
            "they are trained; formats by name, and none for all, are allowed"
        )
    calibration = _Calibration([list(sample) for sample in samples], run, options, targets)
    layers = calibration.layers(function, weights)
    trained = [
        RoundedLayer(name, atom.name, grid)
        for name, (atom, grid) in layers.items()
        if isinstance(atom, Var)
    ]
    if not trained:
        raise QuantisationError(
            f"training with weights in {options.weights}: function {function.name} has no layer "
            f"whose weights are one of its parameters {', '.join(weights)}"
        )
    real = _with_rounded_constants(function, layers)
    points = calibration.scales(real, weights)
    own = [param.name for param in real.params] + [let.name for let in real.body.lets]
    writer = FakeWriter(real, trained, {name: points[name] for name in own if name in points})
    return FakeQuantised(writer.function(), real, writer.layers, writer.points, calibration)


@dataclass(frozen=True, slots=True, eq=False)
class _Calibration:
    """What chooses the scales of int8 values."""

    samples: Sequence[Sequence[NestedArray]]
    run: Runner
    options: QuantiseOptions
    targets: Sequence[Target[Any]]

    def scales(self, function: Function, weights: Mapping[str, Array]) -> dict[str, Scale]:
        """The scale of each value that is int8 in the quantised network, by the value's name."""
        bound = with_constants(function, weights)
        options = replace(self.options, weights=INT8_WEIGHTS)
        found = quantise_network(bound, self.samples, self.run, options, self.targets)
        scales: dict[str, Scale] = {}
        for name, scale in found.scales.values():
            scales.setdefault(name, scale)
        return scales

    def products(
        self, function: Function, weights: Mapping[str, Array]
    ) -> dict[str, WeightedProduct]:
        """The layers with these weights, by the names of their products."""
        bound = transform(with_constants(function, weights), (FoldConstants(self.run),))
        found = map(product_of, bound.body.lets)
        return {product.name: product for product in found if product is not None}

    def layers(
        self, function: Function, weights: Mapping[str, Array]
    ) -> dict[str, tuple[Atom, LayerGrid]]:
        """The weights of each layer, and how they are rounded, by the name of its product."""
        asked = self.options.weights
        products = self.products(function, weights)
        rules = rules_of(with_constants(function, weights), asked.rules) if asked.rules else {}
        found: dict[str, tuple[Atom, LayerGrid]] = {}
        for let in function.body.lets:
            product = products.get(let.name)
            if product is None:
                continue
            assert isinstance(let.value, Call), "a product"
            kind, group = asked.of_layer(rules.get(let.name))
            form = kind.form
            kept = form is None or refusal(product, form)
            how = None if form is None or kept else LayerFormat(form, group)
            found[let.name] = let.value.args[1], LayerGrid(product.axis, how, self.options)
        return found


def with_constants(function: Function, values: Mapping[str, Array]) -> Function:
    """The function without the parameters that have values."""
    constants: dict[str, Atom] = {name: Constant(array) for name, array in values.items()}
    params = tuple(param for param in function.params if param.name not in constants)
    body = substitute(function.body, constants)
    return replace(function, params=params, body=body)


def _with_rounded_constants(
    function: Function, layers: Mapping[str, tuple[Atom, LayerGrid]]
) -> Function:
    """The function with layers rounded whose weights are constants."""

    def rounded(let: Let) -> Let:
        match layers.get(let.name), let.value:
            case (Constant(array), grid), Call(args=(data, _, *others)):
                args = data, Constant(grid.rounded(array)), *others
                return replace(let, value=replace(let.value, args=args))
            case _:
                return let

    body = replace(function.body, lets=tuple(map(rounded, function.body.lets)))
    return replace(function, body=body)
