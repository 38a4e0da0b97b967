"""Layers that stay in real numbers as the user wishes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import helper

from tandem.compiler.errors import QuantisationError
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Function, Let, Var
from tandem.compiler.graph.passes import EliminateDead, Fuse, transform
from tandem.compiler.graph.types import TensorType
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.samples import synthetic
from tests.compiler.quantise.random_networks import networks
from tests.support.compiler.frontends.onnx_models import model
from tests.support.compiler.frontends.onnx_models import residual as residual_model
from tests.support.compiler.quantise.networks import called, calls, network, residual, sqnr

RUN = NativeRunner()
EXACT_ON = compile_options().exact_on
CHAIN = """
func @main(x: float32[1, 8, 6, 6], w1: float32[8, 8, 3, 3], w2: float32[8, 8, 3, 3]):
  c1 = conv2d(x, w1, padding=[1, 1, 1, 1])
  r1 = relu(c1)
  c2 = conv2d(r1, w2, padding=[1, 1, 1, 1])
  y = relu(c2)
  return y
"""


def quantised(function: Function, *names: str) -> Function:
    samples, options = list(synthetic(function, 2)), QuantiseOptions(keep_float=names)
    return quantise_network(function, samples, RUN, options, EXACT_ON).function


def lets(function: Function) -> dict[str, Let]:
    return {let.name: let for let in all_lets(function.body)}


def dtypes(function: Function, names: list[str]) -> list[str]:
    found = verify(function)
    return [str(type_.dtype) for name in names if isinstance(type_ := found[name], TensorType)]


def data_of_products(function: Function) -> list[str]:
    operands = (call.args[0] for call in calls(function, "conv2d"))
    return [each.name for each in operands if isinstance(each, Var)]


@pytest.mark.parametrize("name", ["r1", "c1"])
def test_an_activation_is_kept_with_its_layer(name: str) -> None:
    """The other layer has integers, as without the option."""
    found = quantised(network(CHAIN), name)
    assert dtypes(found, data_of_products(found)) == ["float32", "int8"]
    assert lets(found)["c1"].reason == "conv2d: it stays in float32, as asked for"
    plain = lets(quantised(network(CHAIN))).values()
    assert "as asked for" not in " ".join(let.reason or "" for let in plain)


def test_both_layers_of_a_sum() -> None:
    """A sum is kept with the layers whose results nobody else reads, and with no other."""
    found = quantised(residual(6), "r4")
    kept = [let.name for let in lets(found).values() if "as asked for" in (let.reason or "")]
    assert kept == ["c4", "c5", "a4", "r4"]
    assert "int8" in dtypes(found, data_of_products(found))


@pytest.mark.parametrize("name", ["conv", "c", "norm", "n", "BatchNormalization"])
def test_a_normalisation_that_joined_a_layer(name: str) -> None:
    """Either stands for both, by the names of nodes, values and operators."""
    found = quantised(import_model(residual_model()).function, name)
    assert data_of_products(found)[0] == "x"


def test_an_operator_of_several_parts() -> None:
    """All of them stay, and reasons name it; without the option a part is a layer."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("LRN", ["r"], ["y"], "norm", size=3),
    ]
    function = import_model(model(nodes, {"x": [1, 8, 4, 4]}, ["y"])).function
    assert "average_pool" not in called(quantised(function))
    for name in ("LRN", "norm"):
        found = quantised(function, name)
        assert "quantise" not in called(found)
        reasons = [let.reason for let in lets(found).values() if let.reason]
        assert "average_pool of LRN: it stays in float32, as asked for" in reasons
        assert "divide of LRN: it stays in float32, as asked for" in reasons


def test_a_network_with_scales_of_its_own() -> None:
    scale = "float32[](0.1), int8[](0)"
    text = f"""
func @main(x: float32[1, 8, 4, 4], w: float32[8, 8, 1, 1], v: float32[8, 8, 1, 1]):
  x_q = quantise(x, {scale})
  x_r = dequantise(x_q, {scale})
  w_q = quantise(w, {scale})
  w_r = dequantise(w_q, {scale})
  c = conv2d(x_r, w_r)
  c_q = quantise(c, {scale})
  c_r = dequantise(c_q, {scale})
  y = conv2d(c_r, w_r)
  return y
"""
    function = network(text)
    for names, wanted in ((["c"], ["float32", "int8"]), ([], ["int8", "int8"])):
        found = quantised(function, *names)
        assert dtypes(found, data_of_products(found)) == wanted


def test_unknown_names() -> None:
    """The nearest names are said, or the first ones."""
    with pytest.raises(
        QuantisationError, match=r"operator 'r11' that computes anything: it has r1"
    ):
        quantised(network(CHAIN), "r1", "r11")
    with pytest.raises(QuantisationError, match=r"'\?' that .*: it has c1, r1, c2, y$"):
        quantised(network(CHAIN), "?")


@settings(max_examples=8)
@given(networks(), st.data())
def test_random_networks(function: Function, data: st.DataObject) -> None:
    """What is kept has its name and its type, if nothing merged it; if all is, nothing is int8."""
    names = [*lets(transform(function, (EliminateDead(),)))]
    assume(names)
    kept = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    found = quantised(function, *kept)
    for name in kept:
        if name in lets(found):
            assert verify(found)[name] == verify(function)[name]
            assert called(found)[[*lets(found)].index(name)] not in ("dequantise", "quantise")
    wholly = quantised(function, *names)
    assert not {"quantise", "dequantise", "requantise"} & set(called(wholly))
    (sample,) = synthetic(function, 1, seed=3)
    real, same = (
        evaluate(transform(graph, (EliminateDead(), Fuse())), sample, RUN)
        for graph in (function, wholly)
    )
    assert isinstance(real, np.ndarray)
    assert isinstance(same, np.ndarray)
    assert not np.abs(real).max() or sqnr(real, same) > 80
