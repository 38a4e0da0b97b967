"""What nobody uses goes."""

from __future__ import annotations

from hypothesis import given, settings

from tandem.compiler.graph import Function
from tandem.compiler.graph.passes import EliminateDead
from tandem.compiler.graph.visit import all_lets, names_in
from tests.support.compiler.graph.graphs import becomes, graphs, inputs, keeps_meaning


def test_inside_and_outside() -> None:
    becomes(
        EliminateDead(),
        """
func @f(x: int8[2], c: bool[], unused: int8[]):
  a = negative(x)
  b = absolute(x)
  d = add(a, b)
  e = relu(x)
  t = (x, d)
  g = if c:
    h = add(e, x)
    k = negative(h)
    yield h
  else:
    l = absolute(b)
    yield x
  m = if c:
    n = negative(x)
    yield n
  else:
    yield x
  return g
""",
        """
func @f(x: int8[2], c: bool[], unused: int8[]):
  e = relu(x)
  g = if c:
    h = add(e, x)
    yield h
  else:
    yield x
  return g
""",
    )


@settings(max_examples=25)
@given(graphs())
def test_all_that_is_left_is_used(function: Function) -> None:
    found = keeps_meaning(EliminateDead(), function, inputs(function))
    used = set(names_in(found.body))
    assert {each.name for each in all_lets(found.body)} <= used
    assert EliminateDead().apply(found) == found
