"""Networks that round as their integers will: against quantisation, and their training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph import Body, Function, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import value_and_grad
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.graph.visit import substitute
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.quantise.compressed.rounding import coded_weights
from tandem.compiler.quantise.fake.network import (
    Array,
    FakeQuantised,
    fake_quantised,
    with_constants,
)
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.options import Mode, QuantiseOptions
from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.compiler.quantise.weight_options import WeightOptions
from tandem.compiler.quantise.weight_rules import WeightRule
from tandem.hw.weight_formats import TERNARY
from tests.support.compiler.graph.graphs import graph

RUN = NativeRunner()
NETWORK = graph("""
func @net(x: float32[4, 8, 6, 6], w: float32[16, 8, 3, 3], b: float32[16], v: float32[10, 16]):
  c = conv2d(x, w, b, padding=[1, 1, 1, 1])
  r = relu(c)
  p = global_average_pool(r)
  f = flatten(p)
  y = dense(f, v)
  return y
""")
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((4, 8, 6, 6)).astype(np.float32)
WEIGHTS = {
    "w": (RANDOM.standard_normal((16, 8, 3, 3)) * 0.1).astype(np.float32),
    "b": RANDOM.standard_normal(16).astype(np.float32),
    "v": RANDOM.standard_normal((10, 16)).astype(np.float32),
}
KINDS = (WeightKind.INT8, WeightKind.INT4, WeightKind.MXFP4, WeightKind.NF4, WeightKind.TERNARY)


def fake(options: QuantiseOptions, network: Function = NETWORK) -> FakeQuantised:
    return fake_quantised(network, WEIGHTS, [[X]], RUN, options)


@pytest.mark.every(2)
@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_it_computes_what_the_quantised_network_computes(kind: WeightKind, mode: Mode) -> None:
    options = QuantiseOptions(mode, weights=WeightOptions(kind))
    found = fake(options)
    scales = found.scales(WEIGHTS)
    assert [param.name for param in found.function.params] == ["x", *WEIGHTS, *scales]
    ours = evaluate(found.function, [X, *WEIGHTS.values(), *scales.values()], RUN)
    rounded = found.rounded(WEIGHTS)
    np.testing.assert_array_equal(rounded["b"], WEIGHTS["b"])
    integers = quantise_network(with_constants(NETWORK, rounded), [[X]], RUN, options)
    theirs = evaluate(transform(integers.function, (Fuse(),)), [X], RUN)
    # The same but for sums next to the middle of two integers, of which there are many between
    # scales that are powers of two: means of images may be off by a step.
    off = np.abs(np.asarray(ours) - np.asarray(theirs))
    step = float(scales["p_scale"]) * np.abs(rounded["v"]).sum(1).max()
    assert off.max() <= step
    if mode is Mode.MULTIPLIER:
        assert np.median(off) <= 1e-6 * np.abs(theirs).max()


def test_weights_are_those_of_the_format() -> None:
    rules = (WeightRule.of("y", "int8"),)
    found = fake(QuantiseOptions(weights=WeightOptions(WeightKind.TERNARY, rules=rules)))
    rounded = found.rounded(WEIGHTS)
    coded = coded_weights(WEIGHTS["w"], TERNARY, 32)
    np.testing.assert_array_equal(rounded["w"], coded.real.astype(np.float32))
    largest = np.abs(WEIGHTS["v"]).max(1, keepdims=True).astype(np.float64)
    wanted = np.rint(WEIGHTS["v"] / (largest / 127)) * (largest / 127)
    np.testing.assert_array_equal(rounded["v"], wanted.astype(np.float32))


def test_layers_with_weights_that_are_constants() -> None:
    """They are rounded, and have no scales to be given."""
    network = with_constants(NETWORK, {"w": WEIGHTS["w"]})
    others = {name: WEIGHTS[name] for name in ("b", "v")}
    options = QuantiseOptions(weights=WeightOptions(WeightKind.TERNARY))
    found = fake_quantised(network, others, [[X]], RUN, options)
    scales = found.scales(others)
    ours = evaluate(found.function, [X, *others.values(), *scales.values()])
    whole = fake(options)
    given = [X, *WEIGHTS.values(), *whole.scales(WEIGHTS).values()]
    assert "c_weight_scales" not in scales
    np.testing.assert_allclose(ours, evaluate(whole.function, given), rtol=1e-5)


def test_a_weight_that_is_no_layer_s_alone_stays() -> None:
    network = graph("""
func @net(x: float32[4, 16], w: float32[16, 16]) -> float32[4, 16]:
  y = dense(x, w)
  t = reduce_sum(w, axes=[0], keepdims=False)
  z = add(y, t)
  return z
""")
    weights = {"w": WEIGHTS["w"].reshape(-1)[:256].reshape(16, 16)}
    samples = [[X.reshape(-1)[:64].reshape(4, 16)]]
    options = QuantiseOptions(weights=WeightOptions(WeightKind.TERNARY))
    found = fake_quantised(network, weights, samples, RUN, options)
    assert found.rounded(weights)["w"] is weights["w"]
    assert "y_weight_scales" in found.scales(weights)


def test_weights_that_are_computed_from_weights() -> None:
    """As the last layer of a language model, which has those of the embedding, transposed."""
    network = graph("""
func @net(x: float32[4, 16], w: float32[12, 16]) -> float32[4, 12]:
  t = transpose(w, perm=[1, 0])
  y = matmul(x, t)
  return y
""")
    weights = {"w": WEIGHTS["w"].reshape(-1)[:192].reshape(12, 16)}
    x = X.reshape(-1)[:64].reshape(4, 16)
    options = QuantiseOptions(weights=WeightOptions(WeightKind.TERNARY))
    found = fake_quantised(network, weights, [[x]], RUN, options)
    scales = found.scales(weights)
    assert scales["y_weight_scales"].shape == (1, 12)
    ours = evaluate(found.function, [x, weights["w"], *scales.values()])
    coded = coded_weights(weights["w"], TERNARY, 32)
    data = np.rint(x / scales["x_scale"]) * scales["x_scale"]
    np.testing.assert_allclose(ours, data @ coded.real.T, rtol=1e-5, atol=1e-6)


def test_training_brings_back_what_ternary_weights_lose() -> None:
    options = QuantiseOptions(weights=WeightOptions(WeightKind.TERNARY))
    found = fake(options)
    wanted = np.asarray(evaluate(with_constants(NETWORK, WEIGHTS), [X]))
    network = with_loss(found.function)
    gradients = value_and_grad(network, ["w", "b", "v"])

    def error(weights: dict[str, Array]) -> float:
        rounded = with_constants(NETWORK, found.rounded(weights))
        integers = quantise_network(rounded, [[X]], RUN, options)
        results = evaluate(transform(integers.function, (Fuse(),)), [X], RUN)
        return float(((np.asarray(results) - wanted) ** 2).mean())

    weights = dict(WEIGHTS)
    before = error(weights)
    for step in range(60):
        if step % 10 == 0:
            scales = found.scales(weights)
        given = [X, *weights.values(), *scales.values(), wanted]
        _, slopes = evaluate(gradients, given, RUN)
        weights = {
            name: array - np.float32(0.01) * slope
            for (name, array), slope in zip(weights.items(), slopes, strict=True)
        }
    assert error(weights) < 0.3 * before


def test_refusals() -> None:
    auto = QuantiseOptions(weights=WeightOptions(WeightKind.AUTO))
    with pytest.raises(QuantisationError, match=r"^training with weights in auto: formats that la"):
        fake(auto)
    smooth = QuantiseOptions(weights=WeightOptions(WeightKind.INT4, smooth=True))
    with pytest.raises(QuantisationError, match=r"^training with weights in int4: smoothing would"):
        fake(smooth)
    ternary = QuantiseOptions(weights=WeightOptions(WeightKind.TERNARY))
    network = with_constants(NETWORK, {"w": WEIGHTS["w"], "v": WEIGHTS["v"]})
    message = r"function net has no layer whose weights are one of its parameters b$"
    with pytest.raises(QuantisationError, match=message):
        fake_quantised(network, {"b": WEIGHTS["b"]}, [[X]], RUN, ternary)


def with_loss(network: Function) -> Function:
    """The mean squared error of a network."""
    square = """
func @loss(y: float32[4, 10], wanted: float32[4, 10]) -> float32[]:
  e = subtract(y, wanted)
  s = multiply(e, e)
  loss = reduce_mean(s, keepdims=False)
  return loss
"""
    loss = graph(square)
    assert isinstance(network.body.result, Var)
    ending = substitute(loss.body, {"y": network.body.result})
    body = Body((*network.body.lets, *ending.lets), ending.result)
    params = (*network.params, loss.params[1])
    return replace(network, params=params, body=body, result=None)
