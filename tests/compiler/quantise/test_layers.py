"""Tests of the layers of a quantised network."""

from __future__ import annotations

from collections.abc import Callable

from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.printer import text
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.layers import layers
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.quantised import Quantised
from tandem.compiler.quantise.samples import synthetic
from tests.support.compiler.quantise.networks import network

EXACT_ON = compile_options().exact_on


def quantised(function: Function) -> Quantised:
    return quantise_network(function, list(synthetic(function)), NativeRunner(), targets=EXACT_ON)


def test_layers(golden: Callable[[str, str], None]) -> None:
    """What real numbers compute between two layers, a sigmoid, is part of none."""
    function = network(
        "func @main(x: float32[1, 2, 4, 4], w: float32[3, 2, 1, 1], v: float32[3, 3, 1, 1]):\n"
        "  c = conv2d(x, w)\n  s = sigmoid(c)\n  d = conv2d(s, v)\n  r = relu(d)\n"
        "  e = conv2d(r, v)\n  return e"
    )
    lines = []
    for layer in layers(quantised(function)):
        inputs = [name for name, _ in layer.inputs]
        lines.append(f"{layer.name}: {layer.operators} of {inputs}\n{text(layer.function)}\n")
    golden("quantise/layers.txt", "".join(lines))


def test_movement_is_no_layer() -> None:
    """A reshape of int8 elements rounds nothing; a dense layer's sums become real numbers."""
    function = network(
        "func @main(x: float32[1, 2, 2, 2], w: float32[3, 8]):\n"
        "  r = reshape(x, shape=[1, 8])\n  y = dense(r, w)\n  return y"
    )
    found = [*layers(quantised(function))]
    assert [(each.name, each.operators) for each in found] == [
        ("x", ("quantise",)),
        ("y", ("dense",)),
    ]
    assert found[1].scale is None


def test_a_layer_that_only_rounds_names_what_it_rounds() -> None:
    """An operator without an integer form is computed in float, and its result is rounded."""
    function = network(
        "func @main(x: float32[1, 2, 2, 2], w: float32[2, 2, 1, 1]):\n"
        "  c = conv2d(x, w)\n  s = sign(c)\n  y = conv2d(s, w)\n  return y"
    )
    found = {each.name: (each.operators, each.only_rounds) for each in layers(quantised(function))}
    assert found == {
        "x": (("quantise",), True),
        "c": (("conv2d",), False),
        "s": (("sign", "quantise"), True),
        "y": (("conv2d",), False),
    }


def test_layers_in_branches_are_left_out() -> None:
    function = network(
        "func @main(xc: bool[], x: float32[1, 2, 2, 2], w: float32[2, 2, 1, 1]):\n"
        "  y = conv2d(x, w)\n"
        "  z = if xc:\n    a = conv2d(y, w)\n    yield a\n  else:\n    yield y\n  return z"
    )
    assert [each.name for each in layers(quantised(function))] == ["x", "y"]
