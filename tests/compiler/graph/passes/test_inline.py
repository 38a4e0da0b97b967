"""Calls that become bodies: which, and what the text is then."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.passes import Inline
from tandem.compiler.graph.passes.inline import recursive_functions
from tandem.compiler.graph.printer import text
from tests.support.compiler.graph.graphs import agree, becomes, graph

SMALL = """
func @g(a: float32[2], b: float32[2]) -> float32[2]:
  c = relu(a)
  d = add(c, b)
  return d

func @f(x: float32[2], y: float32[2]):
  p = @g(x, y)
  q = @g(p, float32[2](1.0, 2.0))
  return q
"""


def test_small_functions() -> None:
    start = graph(SMALL)
    found = Inline().apply(start)
    agree(start, found)
    assert (
        text(found)
        == """\
func @f(x: float32[2], y: float32[2]):
  c = relu(x)
  p = add(c, y)
  c_1 = relu(p)
  q = add(c_1, float32[2](1.0, 2.0))
  return q
"""
    )


@pytest.mark.parametrize(("small", "calls"), [(0, 2), (1, 2), (2, 0), (3, 0)])
def test_sizes(small: int, calls: int) -> None:
    found = Inline(small).apply(graph(SMALL))
    agree(graph(SMALL), found)
    assert text(found).count("= @g(") == calls
    assert len(found.definitions) == (1 if calls else 0)


def test_a_function_that_is_called_once() -> None:
    once = SMALL.replace("q = @g(p, float32[2](1.0, 2.0))", "q = exp(p)")
    found = Inline(0).apply(graph(once))
    agree(graph(once), found)
    assert "@g" not in text(found)


def test_results_that_are_arguments() -> None:
    becomes(
        Inline(),
        "func @g(a: int8[], b: int8[]):\n  return b\n\n"
        "func @f(x: int8[], y: int8[]):\n  z = @g(x, y)\n  w = negative(z)\n  return w",
        "func @f(x: int8[], y: int8[]):\n  w = negative(y)\n  return w",
    )
    becomes(
        Inline(),
        "func @g(a: int8[]):\n  return int8[](7)\n\nfunc @f(x: int8[]):\n  z = @g(x)\n  return z",
        "func @f(x: int8[]):\n  return int8[](7)",
    )


def test_calls_in_branches_and_of_callees() -> None:
    start = graph("""
func @h(a: float32[2]):
  b = exp(a)
  return b

func @g(a: float32[2]):
  b = @h(a)
  c = relu(b)
  return c

func @f(x: float32[2], t: bool[]):
  r = if t:
    p = @g(x)
    yield p
  else:
    q = @h(x)
    yield q
  return r
""")
    found = Inline().apply(start)
    agree(start, found)
    assert found.definitions == ()
    assert text(found).count("exp(") == 2


LOOP = """
func @even(n: int64[]) -> bool[]:
  stop = equal(n, int64[](0))
  r = if stop:
    yield bool[](True)
  else:
    m = subtract(n, int64[](1))
    s = @odd(m)
    yield s
  return r

func @odd(n: int64[]) -> bool[]:
  e = @even(n)
  r = logical_not(e)
  return r

func @half(n: int64[]) -> int64[]:
  h = add(n, n)
  return h

func @f(n: int64[]):
  d = @half(n)
  r = @even(d)
  return r
"""


def test_recursive_functions_stay() -> None:
    start = graph(LOOP)
    assert recursive_functions(start.named) == {"even", "odd"}
    assert recursive_functions({}) == frozenset()
    found = Inline(1000).apply(start)
    agree(start, found)
    assert [each.name for each in found.definitions] == ["even", "odd"]


def test_functions_that_are_values_stay() -> None:
    start = graph("""
func @g(a: float32[2]) -> float32[2]:
  b = relu(a)
  return b

func @make(a: float32[2]) -> fn(float32[2]) -> float32[2]:
  h = fun(b: float32[2]) -> float32[2]:
    c = add(a, b)
    yield c
  return h

func @f(x: float32[2]):
  v = @g
  y = @g(x)
  z = call v(y)
  k = @make(z)
  w = call k(x)
  return w
""")
    found = Inline().apply(start)
    agree(start, found)
    assert {each.name for each in found.definitions} == {"g", "make"}
    assert "= @g(" in text(found)


def test_what_is_not_reached_goes() -> None:
    start = graph(
        SMALL.replace(
            "func @f", "func @lost(a: int8[]) -> int8[]:\n  b = @lost(a)\n  return b\n\nfunc @f"
        )
    )
    assert "lost" not in text(Inline().apply(start))


def test_a_program_without_functions() -> None:
    plain = graph("func @f(x: float32[2]):\n  y = relu(x)\n  return y")
    assert Inline().apply(plain) == plain
