"""Passes one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Body, Constant, Function, Var
from tandem.compiler.graph.evaluate import Interpreter
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.passes import Fuse, InferTypes, simplifying_passes, transform
from tandem.compiler.graph.printer import text
from tests.support.compiler.graph.graphs import agree, graph, graphs


@dataclass(frozen=True, slots=True)
class Forget:
    """A pass with a mistake: what it returns is nowhere."""

    name: str = "forget"

    def apply(self, function: Function) -> Function:
        return replace(function, body=Body((), Var("lost")))


BLOCK = """
func @block(x: float32[N, 2, 4, 4]):
  w = transpose(TURNED, perm=[1, 0, 2, 3])
  a = conv2d(x, w, padding=[1, 1, 1, 1])
  n = batch_norm(a, SCALE, SCALE, SCALE, SCALE)
  r = relu(n)
  b = conv2d(r, w, padding=[1, 1, 1, 1])
  m = batch_norm(b, SCALE, SCALE, SCALE, SCALE)
  unused = exp(m)
  again = identity(x)
  s = add(m, x)
  t = relu(s)
  p = global_average_pool(t)
  f = flatten(p)
  d = dense(f, float32[2, 2](1.0, 2.0, 3.0, 4.0), float32[2](0.5, -0.5))
  q = softmax(d)
  return q
"""


def test_a_residual_block(golden: Callable[[str, str], None]) -> None:
    # Eighths, and a deviation of 1.5: what becomes of them has no roundings that hosts differ in.
    kernel = Constant((np.arange(36, dtype=np.float32).reshape(2, 2, 3, 3) - 16) / 8)
    scale = Constant(np.array([2.25 - 1e-5] * 2, np.float32))
    program = BLOCK.replace("SCALE", f"{scale.type} @ h{scale.digest}")
    program = program.replace("TURNED", f"{kernel.type} @ h{kernel.digest}")
    start = parse_function(program, OPERATORS, {each.digest: each for each in (kernel, scale)})
    found = transform(start, (*simplifying_passes(Interpreter()), Fuse(), InferTypes()))
    agree(start, found, 1e-4)
    golden("graph/residual_block.txt", text(found))


def test_the_pass_that_breaks_a_graph_is_named() -> None:
    function = graph("func @f(x: int8[]):\n  return x")
    with pytest.raises(GraphError, match="after forget: function f: the result uses lost"):
        transform(function, [Forget()])
    with pytest.raises(GraphError, match=r"^function f: the result uses lost"):
        transform(Forget().apply(function), [])


@settings(max_examples=15)
@given(graphs())
def test_random_graphs_keep_their_meaning(function: Function) -> None:
    found = transform(function, (*simplifying_passes(Interpreter()), Fuse(), InferTypes()))
    assert found.params == function.params
    agree(function, found)
