"""Steps of training as artifacts: gradients of networks of layers."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import value_and_grad
from tandem.compiler.graph.types import TensorType
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.gradient_draws import Array
from tests.support.compiler.graph.graphs import graph

IMAGES = """
func @f(x: float64[2, 3, 8, 8], y: int64[2], w: float64[4, 3, 3, 3], b: float64[4], \
d: float64[4, 1, 3, 3], v: float64[5, 16]) -> float64[]:
  c = conv2d(x, w, b, strides=[2, 2], padding=[1, 1, 1, 1])
  r = gelu(c)
  e = conv2d(r, d, padding=[1, 1, 1, 1], groups=4)
  m = max_pool(e, kernel=[2, 2], strides=[2, 2])
  t = flatten(m)
  h = dense(t, v)
  l = log_softmax(h)
  o = one_hot(y, float64[2](0.0, 1.0), depth=5)
  p = multiply(l, o)
  s = reduce_sum(p, keepdims=False)
  n = negative(s)
  return n
"""

TOKENS = """
func @f(i: int64[6], e: float64[7, 4], q: float64[4, 4], k: float64[4, 4], \
g: float64[4], z: float64[4]) -> float64[]:
  x = gather(e, i)
  n = layer_norm(x, g, z)
  a = matmul(n, q)
  b = matmul(n, k)
  t = transpose(b, perm=[1, 0])
  s = matmul(a, t)
  p = softmax(s)
  o = matmul(p, n)
  r = add(x, o)
  l = log_softmax(r)
  m = reduce_mean(l, keepdims=False)
  y = negative(m)
  return y
"""
"""A layer of attention on an embedding."""


@pytest.mark.parametrize("program", [IMAGES, TOKENS])
def test_a_step(program: str) -> None:
    function = graph(program)
    step = value_and_grad(function)
    rng = np.random.default_rng(3)
    given: list[Array] = []
    for param in function.params:
        assert isinstance(param.type, TensorType)
        shape = param.type.static_shape(param.name)
        floats = param.type.dtype.is_float
        given.append(rng.standard_normal(shape) if floats else rng.integers(0, 5, shape))
    value, gradients = evaluate(step, given)
    artifact = build(step, [cpu(CpuTarget.host())], Provenance("step"))
    names = [param.name for param in function.params]
    run = Executor(artifact, [CpuDevice()]).run(dict(zip(names, given, strict=True)))
    for found, wanted in zip(run.outputs.values(), (value, *gradients), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    ways = [rng.uniform(-1, 1, each.shape) for each in given if each.dtype.kind == "f"]
    along = sum(float(np.sum(a * b)) for a, b in zip(gradients, ways, strict=True))

    def moved(size: float) -> float:
        steps = iter(ways)
        operands = [each + size * next(steps) if each.dtype.kind == "f" else each for each in given]
        return float(np.asarray(evaluate(function, operands)))

    high, low = moved(1e-6), moved(-1e-6)
    np.testing.assert_allclose(along, (high - low) / 2e-6, rtol=1e-6)
