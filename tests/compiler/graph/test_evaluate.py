"""What graphs compute, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Function
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.machines.cpu.runner import NativeRunner
from tests.support.compiler.graph.graphs import agree, graph, graphs, inputs, same_values

LAYER = """
kernel @soft(x: float32[N, 3]) -> (float32[N, 3], float32[N]):
  e = exp(x)
  s = reduce_sum(e, axes=[1], keepdims=False)
  t = (e, s)
  return t

func @f(x: float32[N, 4], w: float32[3, 4], c: bool[]):
  d = dense(x, w, float32[3](1.0, 2.0, 3.0))
  h = if c:
    y = relu(d)
    yield y
  else:
    n = negative(d)
    yield n
  t = @soft(h)
  e = t[0]
  s = t[1]
  z = (s, e, h)
  return z
"""


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("truth", [True, False])
def test_against_numpy(size: int, truth: bool) -> None:
    function = graph(LAYER)
    x, w, _ = inputs(function, size=size)
    assert not isinstance(x, tuple)
    assert not isinstance(w, tuple)
    dense = x @ w.T + np.array([1, 2, 3], np.float32)
    h = np.maximum(dense, 0) if truth else -dense
    expected = (np.exp(h).sum(1), np.exp(h), h)
    for run in (None, NativeRunner(reassociate=False)):
        found = evaluate(function, [x, w, np.array(truth)], run)
        same_values(found, expected, 1e-5)


def test_what_a_kernel_gives_may_be_what_it_is_given() -> None:
    program = """
kernel @k(x: float32[2], y: float32[]):
  a = add(x, float32[](1.0))
  t = (x, a, a, float32[1](2.0), y)
  u = (t, x)
  return u
func @f(x: float32[2], y: float32[]):
  t = @k(x, y)
  return t
"""
    x, y = np.array([1, 2], np.float32), np.array(3, np.float32)
    expected = ((x, x + 1, x + 1, np.array([2], np.float32), y), x)
    same_values(evaluate(graph(program), [x, y]), expected)


@settings(max_examples=8)
@given(graphs(steps=4))
def test_native_code_gives_the_same(function: Function) -> None:
    fused = transform(function, [Fuse()])
    given_ = inputs(function)
    same_values(
        evaluate(fused, given_, NativeRunner(reassociate=False)), evaluate(function, given_), 1e-5
    )


def test_refusals() -> None:
    function = graph("func @f(x: float32[N, 3], y: float32[N]):\n  return y")
    x, y = np.zeros((2, 3), np.float32), np.zeros(3, np.float32)
    with pytest.raises(
        GraphError,
        match=r"takes \(float32\[N, 3\], float32\[N\]\), and is given \(float32\[2, 3\], ",
    ):
        evaluate(function, [x, y])
    with pytest.raises(GraphError, match=r"and is given \(float32\[2, 3\],\)"):
        evaluate(function, [x])
    agree(function, function)
