"""The writer of networks that round weights and values, by scales that are parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Param, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType
from tandem.compiler.graph.visit import names_taken, renamed, substitute
from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.quantise.fake.layer_grid import RoundedLayer
from tandem.compiler.quantise.forms import Scale


class FakeWriter:
    """Writes a network that rounds.

    Parameters
    ----------
    layers
        The layers whose weights are rounded.
    scales
        Of the values that are rounded, by name: what int8 values stand for.

    Attributes
    ----------
    layers, points
        As of `network.FakeQuantised`.
    """

    def __init__(
        self,
        function: Function,
        layers: Sequence[RoundedLayer],
        scales: Mapping[str, Scale],
    ) -> None:
        self._function = function
        self._products = {layer.product: layer for layer in layers}
        self._scales = scales
        self._taken = names_taken(function)
        self._types = infer(function)
        self._params: list[Param] = []
        self.layers: dict[str, RoundedLayer] = {}
        self.points: dict[str, str] = {}

    def function(self) -> Function:
        """The network."""
        inputs: dict[str, Atom] = {}
        lets: list[Let] = []
        for param in self._function.params:
            if param.name in self._scales:
                rounded = unique_name(f"{param.name}_rounded", self._taken)
                lets.append(self._point(rounded, param.name, param.name))
                inputs[param.name] = Var(rounded)
        for let in substitute(self._function.body, inputs).lets:
            lets += self._written(let)
        return replace(
            self._function,
            params=(*self._function.params, *self._params),
            body=Body(tuple(lets), renamed(self._function.body.result, inputs)),
        )

    def _written(self, let: Let) -> Iterator[Let]:
        """A value with rounded weights, which is rounded itself where it is int8."""
        if let.name in self._products:
            assert isinstance(let.value, Call), "a product"
            data, _, *others = let.value.args
            rounded = self._weights(self._products[let.name])
            yield rounded
            let = replace(let, value=replace(let.value, args=(data, Var(rounded.name), *others)))
        if let.name not in self._scales:
            yield let
            return
        real = unique_name(f"{let.name}_real", self._taken)
        yield replace(let, name=real)
        yield replace(self._point(let.name, let.name, real), origin=let.origin)

    def _weights(self, layer: RoundedLayer) -> Let:
        """The rounded weights of a layer."""
        type_ = self._types[layer.weights]
        assert isinstance(type_, TensorType), "weights of a product"
        shape = layer.grid.scale_shape(type_.static_shape(layer.weights))
        scales = self._param(f"{layer.product}_weight_scales", shape)
        self.layers[scales] = layer
        args = Var(layer.weights), Var(scales)
        name = unique_name(f"{layer.product}_weight_rounded", self._taken)
        return Let(name, Call(layer.grid.operator, args, layer.grid.attributes))

    def _point(self, name: str, of: str, real: str) -> Let:
        """A rounded value."""
        scale = self.points[of] = self._param(f"{of}_scale", ())
        zero = self._scales[of].zero
        operator = OPERATORS["fake_quantise"]
        attributes = operator.attributes(low=INT8.low - zero, high=INT8.high - zero)
        return Let(name, Call(operator, (Var(real), Var(scale)), attributes))

    def _param(self, stem: str, shape: tuple[int, ...]) -> str:
        name = unique_name(stem, self._taken)
        self._params.append(Param(name, TensorType(shape, FLOAT32)))
        return name
