"""Walks see everything once, in order."""

from __future__ import annotations

from dataclasses import replace

from tandem.compiler.graph import Constant, Let, Var
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import (
    all_lets,
    constants,
    functions,
    names_in,
    rewrite_lets,
    substitute,
    use_counts,
)
from tests.support.compiler.graph.graphs import graph

PROGRAM = """
func @g(x: float32[]):
  y = add(x, float32[](1.0))
  return y

func @f(x: float32[], c: bool[]):
  a = @g(x)
  b = @g(a)
  d = if c:
    e = add(a, x)
    yield e
  else:
    yield float32[](2.0)
  t = (d, float32[](1.0))
  u = t[0]
  return u
"""


def test_what_is_in_a_function() -> None:
    function = graph(PROGRAM)
    assert [each.name for each in all_lets(function.body)] == ["a", "b", "d", "e", "t", "u"]
    assert list(names_in(function.body)) == ["x", "a", "c", "a", "x", "e", "d", "t", "u"]
    assert use_counts(function.body)["a"] == 2
    assert "b" not in use_counts(function.body)
    assert [each.name for each in functions(function)] == ["g", "f"]
    assert [float(each.array) for each in constants(function).values()] == [1.0, 2.0]


def test_names_are_replaced_everywhere() -> None:
    body = substitute(graph(PROGRAM).body, {"x": Var("p"), "d": Var("q"), "u": Var("r")})
    assert list(names_in(body)) == ["p", "a", "c", "a", "p", "e", "q", "t", "r"]


def test_values_are_rewritten_inside_first() -> None:
    seen: list[str] = []

    def change(let: Let) -> tuple[Let, ...]:
        seen.append(let.name)
        return () if let.name == "b" else (replace(let, type=None),)

    function = graph(PROGRAM)
    body = rewrite_lets(function.body, change)
    assert seen == ["a", "b", "e", "d", "t", "u"]
    assert text(replace(function, body=body)) == text(function).replace("  b = @g(a)\n", "")
    assert isinstance(next(iter(constants(function).values())), Constant)
