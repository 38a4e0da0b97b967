"""Gradients of the last layers of a network in int8: products of integers, on the accelerator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import value_and_grad
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.passes import simplifying_passes, transform
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.quantise.network import quantise_network
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import HOST, both, run_on

LAST_LAYERS = """
func @loss(x: float32[32, 24], v: float32[16, 24], w: float32[8, 16], y: float32[32, 8]):
  vt = transpose(v, perm=[1, 0])
  h = matmul(x, vt)
  a = relu(h)
  wt = transpose(w, perm=[1, 0])
  z = matmul(a, wt)
  d = subtract(z, y)
  q = multiply(d, d)
  l = reduce_mean(q, keepdims=False)
  return l
"""
"""Two layers behind features `x` of layers that are not trained, and the mean squared error."""

Inputs = tuple[NDArray[np.float32], ...]


@cache
def data() -> tuple[NDArray[np.float32], NDArray[np.float32], Inputs]:
    """Features, what a network of this form makes of them, and that network before what it is to
    learn has changed by a quarter."""
    random = np.random.default_rng(7)
    x = random.normal(size=(256, 24))
    v, w = random.normal(size=(16, 24)) / 5, random.normal(size=(8, 16)) / 4
    near = [each + 0.25 * each.std() * random.normal(size=each.shape) for each in (v, w)]
    y = np.maximum(x @ v.T, 0) @ w.T
    return (
        x.astype(np.float32),
        y.astype(np.float32),
        tuple(each.astype(np.float32) for each in near),
    )


def batch(step: int) -> Inputs:
    rows = np.random.default_rng(step).choice(256, 32, replace=False)
    x, y, _ = data()
    return x[rows], y[rows]


def beginning() -> Inputs:
    _, _, weights = data()
    return weights


def sample(step: int, weights: Inputs) -> Inputs:
    x, y = batch(step)
    return (x, *weights, y)


@cache
def real() -> Function:
    """The loss and its gradients, in real numbers."""
    step = value_and_grad(graph(LAST_LAYERS), ["v", "w"])
    return transform(step, simplifying_passes(NativeRunner()))


def quantised(weights: Inputs) -> Function:
    """The step in int8, with scales of some batches."""
    samples = [sample(step, weights) for step in range(8)]
    return quantise_network(real(), samples, NativeRunner()).function


def gradients(outputs: Mapping[str, NDArray[Any]]) -> Inputs:
    _, v, w = outputs.values()
    return v, w


@pytest.mark.parametrize("engine", ["functional", "cycle"])
def test_products_are_on_the_accelerator(engine: str) -> None:
    alone, shared = both(quantised(beginning()), machine("small8-x"))
    given = sample(100, beginning())
    found = run_on(shared, engine, *given)
    on_it = [each for each in shared.manifest.steps if each.device == "accelerator"]
    # Both layers, the features between them, and both weights; no product is elsewhere.
    rows, features, hidden, results = 32, 24, 16, 8
    assert sum(step.macs for step in on_it) == rows * hidden * (2 * features + 3 * results)
    assert not any(
        "matmul" in step.operators for step in shared.manifest.steps if step not in on_it
    )
    executor = Executor(alone, [CpuDevice(1)])
    names = [each.name for each in executor.inputs]
    wanted = executor.run(dict(zip(names, given, strict=True)))
    for one, other in zip(found.outputs.values(), wanted.outputs.values(), strict=True):
        np.testing.assert_array_equal(one, other)
    _, exact = evaluate(real(), list(given))
    for one, other in zip(gradients(found.outputs), exact, strict=True):
        assert np.linalg.norm(one - other) < 0.1 * np.linalg.norm(other)


def test_training_the_last_layers_with_these_gradients() -> None:
    """As well as with those of real numbers; weights stay real, and scales are chosen again now and
    then."""
    exact = build(real(), [HOST], Provenance("real"))
    losses = []
    for integers in (True, False):
        weights = beginning()
        for epoch in range(3):
            step = build(quantised(weights), [HOST], Provenance("int8")) if integers else exact
            executor = Executor(step, [CpuDevice(1)])
            names = [each.name for each in executor.inputs]
            for number in range(40):
                given = sample(40 * epoch + number, weights)
                found = executor.run(dict(zip(names, given, strict=True))).outputs
                weights = tuple(
                    weight - np.float32(0.5) * change
                    for weight, change in zip(weights, gradients(found), strict=True)
                )
        losses.append(loss(weights))
    found_, wanted = losses
    assert wanted < loss(beginning()) / 5
    assert found_ < 1.1 * wanted


def loss(weights: Inputs) -> float:
    x, y, _ = data()
    v, w = weights
    return float(np.mean((np.maximum(x @ v.T, 0) @ w.T - y) ** 2))
