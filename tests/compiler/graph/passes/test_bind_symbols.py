"""Numbers for symbols, in all that is called too."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Function
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import BindSymbols, Fuse, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import symbols_of
from tandem.compiler.graph.visit import functions
from tests.support.compiler.graph.graphs import graph, graphs, inputs, same_values

PROGRAM = """
kernel @relu(p0: float32[M]) -> float32[M]:
  relu = relu(p0)
  return relu

func @f(x: float32[M, N], y: float32[N]):
  a = flatten(x, axis=2)
  b = squeeze(a, axes=[1])
  c = @relu(b)
  d = @relu(y)
  e = @relu(d)
  z = (c, e)
  return z
"""


def test_a_function_for_each_size() -> None:
    found = transform(graph(PROGRAM), [BindSymbols((("M", 2), ("N", 3)))])
    assert text(found) == text(
        graph("""
kernel @relu(p0: float32[6]) -> float32[6]:
  relu: float32[6] = relu(p0)
  return relu

kernel @relu_1(p0: float32[3]) -> float32[3]:
  relu: float32[3] = relu(p0)
  return relu

func @f(x: float32[2, 3], y: float32[3]):
  a: float32[6, 1] = flatten(x, axis=2)
  b: float32[6] = squeeze(a, axes=[1])
  c: float32[6] = @relu(b)
  d: float32[3] = @relu_1(y)
  e: float32[3] = @relu_1(d)
  z: (float32[6], float32[3]) = (c, e)
  return z
""")
    )


def test_symbols_that_are_not_named_stay() -> None:
    found = transform(graph(PROGRAM), [BindSymbols((("N", 3),))])
    assert [str(each.type) for each in found.params] == ["float32[M, 3]", "float32[3]"]
    assert [str(each.params[0].type) for each in functions(found)[:-1]] == [
        "float32[3*M]",
        "float32[3]",
    ]


@settings(max_examples=25)
@given(graphs())
def test_nothing_symbolic_is_left_and_the_results_are_the_same(function: Function) -> None:
    symbols = sorted(frozenset[str]().union(*(symbols_of(it.type) for it in function.params)))
    for start in (function, Fuse().apply(function)):
        bound = transform(start, [BindSymbols(tuple((each, 2) for each in symbols))])
        for callee in functions(bound):
            assert not any(symbols_of(param.type) for param in callee.params)
        given_ = inputs(function, size=2)
        same_values(evaluate(bound, given_), evaluate(function, given_))


def test_refusals() -> None:
    with pytest.raises(GraphError, match="N is 0: 1 or more is allowed"):
        BindSymbols((("N", 0),)).apply(graph(PROGRAM))
    with pytest.raises(GraphError, match="function f has no symbol B: M, N"):
        BindSymbols((("B", 1),)).apply(graph(PROGRAM))
    with pytest.raises(GraphError, match="function g has no symbol B: it has none"):
        BindSymbols((("B", 1),)).apply(graph("func @g(x: int8[]):\n  return x"))
