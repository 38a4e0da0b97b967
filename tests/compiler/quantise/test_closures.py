"""Layers that are functions go to the accelerator like others."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import Function
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.quantised import Quantised
from tests.compiler.quantise.test_control_flow import EXACT_ON, RUN, operators, samples, weights
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import both, run_on
from tests.support.compiler.quantise.networks import sqnr

IMAGE = "float32[1, 4, 5, 5]"


def program() -> Function:
    """A layer with weights that are given first, alone and as often as an input says, and one of
    two by a condition."""
    layer = f"fn({IMAGE}) -> {IMAGE}"
    return graph(
        f"""
func @layer(w: float32[4, 4, 1, 1], x: {IMAGE}) -> {IMAGE}:
  c = conv2d(x, w)
  s = relu(c)
  return s

func @repeat(f: {layer}, x: {IMAGE}, n: int64[]) -> {IMAGE}:
  more = greater(n, int64[](0))
  r = if more:
    y = call f(x)
    m = subtract(n, int64[](1))
    t = @repeat(f, y, m)
    yield t
  else:
    yield x
  return r

func @main(x: {IMAGE}, n: int64[]) -> {IMAGE}:
  w = add({weights(0, 0.6)}, float32[](0.0))
  f: {layer} = partial @layer(w)
  a = call f(x)
  odd = equal(n, int64[](1))
  g = if odd:
    h: {layer} = partial @layer({weights(1, 0.5)})
    yield h
  else:
    k = fun(z: {IMAGE}):
      u = conv2d(z, {weights(2, 0.5)})
      yield u
    yield k
  b = call g(a)
  y = @repeat(g, b, n)
  return y
"""
    )


def quantised(*counts: int) -> Quantised:
    return quantise_network(program(), samples(*counts), RUN, targets=EXACT_ON)


def test_every_layer_is_one_of_integers() -> None:
    found = quantised(0, 1, 3)
    layers = [name for one in found.function.named.values() for name in operators(one)]
    assert layers.count("conv2d") == layers.count("requantise") == 3
    for x, n in samples(0, 1, 3):
        wanted = evaluate(program(), [x, n], RUN)
        ours = evaluate(found.function, [x, n], RUN)
        assert isinstance(wanted, np.ndarray)
        assert isinstance(ours, np.ndarray)
        assert sqnr(wanted, ours) > 20


@pytest.mark.every(2)
@pytest.mark.parametrize("count", [3, 1, 0])
def test_on_the_accelerator(count: int) -> None:
    found = quantised(0, 1, 3)
    on_cpu, shared = both(found.function, machine("tiny"))
    streams = [each for each in shared.manifest.steps if not each.on_host]
    assert sum(each.operators.count("conv2d") for each in streams) >= 3
    assert not any(not each.on_host for each in on_cpu.manifest.steps)
    for x, n in samples(count):
        (ours,) = run_on(shared, "functional", x, n).outputs.values()
        np.testing.assert_array_equal(ours, evaluate(found.function, [x, n], RUN))
