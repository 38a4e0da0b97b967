"""What is there already is not computed again."""

from __future__ import annotations

from hypothesis import given, settings

from tandem.compiler.graph import Function, If
from tandem.compiler.graph.passes import EliminateCommon
from tandem.compiler.graph.visit import all_lets
from tests.support.compiler.graph.graphs import becomes, graphs, inputs, keeps_meaning


def test_the_same_of_the_same() -> None:
    becomes(
        EliminateCommon(),
        """
func @f(x: float32[2]):
  a = relu(x)
  b = relu(x)
  c = add(a, float32[](1.0))
  d = add(b, float32[](1.0))
  e = add(b, float32[](2.0))
  t = (c, d, e)
  g = t[1]
  h = t[2]
  i = add(g, h)
  return i
""",
        """
func @f(x: float32[2]):
  a = relu(x)
  c = add(a, float32[](1.0))
  e = add(a, float32[](2.0))
  t = (c, c, e)
  i = add(c, e)
  return i
""",
    )


def test_attributes_and_signs_of_zero_tell_apart() -> None:
    program = """
func @f(x: float32[2]):
  a = elu(x, alpha=0.0)
  b = elu(x, alpha=-0.0)
  c = celu(x)
  d = elu(x)
  e = add(x, float32[](0.0))
  g = add(x, float32[](-0.0))
  t = (a, b, c, d, e, g)
  return t
"""
    becomes(EliminateCommon(), program, program)


def test_bodies_know_what_is_before_them_but_not_each_other() -> None:
    becomes(
        EliminateCommon(),
        """
func @f(x: float32[2], c: bool[]):
  a = relu(x)
  b = if c:
    d = relu(x)
    e = exp(x)
    g = add(d, e)
    yield g
  else:
    h = exp(x)
    i = exp(x)
    j = add(h, i)
    yield j
  k = exp(x)
  l = add(b, k)
  return l
""",
        """
func @f(x: float32[2], c: bool[]):
  a = relu(x)
  b = if c:
    e = exp(x)
    g = add(a, e)
    yield g
  else:
    h = exp(x)
    j = add(h, h)
    yield j
  k = exp(x)
  l = add(b, k)
  return l
""",
    )


@settings(max_examples=25)
@given(graphs())
def test_results_are_the_same(function: Function) -> None:
    found = keeps_meaning(EliminateCommon(), function, inputs(function))
    values = [repr(it.value) for it in found.body.lets if not isinstance(it.value, If)]
    assert len(set(values)) == len(values)
    assert len(list(all_lets(found.body))) <= len(list(all_lets(function.body)))
    assert EliminateCommon().apply(found) == found
