"""When tensors have to be kept."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Function, TupleType
from tandem.compiler.graph.live_ranges import live_ranges
from tandem.compiler.graph.memory import plan_memory
from tandem.compiler.graph.passes import BindSymbols
from tandem.compiler.graph.types import symbols_of
from tandem.compiler.graph.visit import all_lets
from tests.support.compiler.graph.graphs import graph, graphs

PROGRAM = """
func @f(x: float32[4], c: bool[], t: (int8[3], bool[2])):
  a = relu(x)
  b = exp(a)
  s = split(a, sizes=[1, 3])
  u = (b, s)
  d = if c:
    e = exp(a)
    yield e
  else:
    yield x
  p = u[1]
  q = p[0]
  r = add(q, d)
  y = t[0]
  z = (r, d, y)
  return z
"""


def test_by_hand() -> None:
    # Lines: a 1, b 2, s 3, u 4, d 5, e 6, yield 7, yield 8, p 9, q 10, r 11, y 12, z 13, return 14.
    found = {each.name: (each.size, each.first, each.last) for each in live_ranges(graph(PROGRAM))}
    assert found == {
        "a": (16, 1, 6),
        # As part of u, which p takes apart.
        "b": (16, 2, 9),
        "s.0": (4, 3, 11),
        "s.1": (12, 3, 10),
        # The whole of the if, and to the end.
        "d": (16, 5, 14),
        "e": (16, 6, 7),
        "r": (16, 11, 14),
    }


def test_items_of_a_tuple_have_the_names_of_values() -> None:
    """As in artifacts, so that each has its place in the plan."""
    program = "func @f(x: float32[4]) -> float32[1]:\n"
    program += (
        "  s = split(x, sizes=[1, 1, 2])\n  a = s[0]\n  b = s[1]\n  y = add(a, b)\n  return y"
    )
    found = {live.name: (live.size, live.first, live.last) for live in live_ranges(graph(program))}
    assert found == {"a": (4, 1, 4), "b": (4, 1, 4), "s.2": (8, 1, 3), "y": (4, 4, 5)}


def test_sizes() -> None:
    program = "func @f(x: int{}[3]):\n  y = identity(x)\n  return y"
    for bits, size in ((4, 3), (8, 3), (12, 6), (64, 24)):
        (tenant,) = live_ranges(graph(program.format(bits)))
        assert tenant.size == size


@settings(max_examples=30)
@given(graphs())
def test_what_is_read_lives(function: Function) -> None:
    symbols = frozenset[str]().union(*(symbols_of(each.type) for each in function.params))
    bound = BindSymbols(tuple((each, 2) for each in sorted(symbols))).apply(function)
    found = live_ranges(bound)
    made = {let.name for let in all_lets(bound.body) if not isinstance(let.type, TupleType)}
    assert {each.name for each in found if "." not in each.name} <= made
    assert plan_memory(found).size <= sum(each.size + 64 for each in found)


def test_refusals() -> None:
    with pytest.raises(GraphError, match=r"y float32\[N\] has a symbolic extent"):
        live_ranges(graph("func @f(x: float32[N]):\n  y = relu(x)\n  return y"))
