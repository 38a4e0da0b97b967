"""Functions of known data become what they compute of its parts."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.evaluate import Interpreter, evaluate
from tandem.compiler.graph.nodes import Match
from tandem.compiler.graph.passes import BindSymbols, EliminateDead, Unfold, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import all_lets, functions
from tests.support.compiler.graph.data_types import LAYERS, LIST, MAPPED, OPTION, ROSE, SUM, TREE
from tests.support.compiler.graph.graphs import agree, becomes, graph, same_values
from tests.support.compiler.graph.recursion import COUNT

UNFOLD = Unfold(Interpreter())


def known(program: str, unfold: Unfold = UNFOLD) -> str:
    """The text of a program after unfolding, which means the same."""
    start = graph(program)
    found = transform(start, [unfold, EliminateDead()])
    agree(start, found)
    return text(found)


def test_a_match_on_a_known_constructor() -> None:
    becomes(
        UNFOLD,
        LIST
        + """
func @main(c: bool[], x: float32[2]):
  none = Nil[float32[2]]()
  one = Cons(x, none)
  y = match one:
    Cons(head, tail):
      z = match tail:
        Cons(other, others):
          yield other
        else:
          a = add(head, x)
          yield a
      yield z
    Nil:
      yield x
  b = if c:
    d = match none:
      else:
        yield y
    yield d
  else:
    yield x
  return b
""",
        LIST
        + """
func @main(c: bool[], x: float32[2]):
  none = Nil[float32[2]]()
  one = Cons(x, none)
  a = add(x, x)
  b = if c:
    yield a
  else:
    yield x
  return b
""",
    )


TOTAL = TREE.partition("func @main")[0].partition("func @total")
HEAD = TREE.partition("\n")[0] + "\n\nfunc @total" + TOTAL[2]


def test_a_recursion_on_a_known_tree_is_straight_code() -> None:
    found = known(
        HEAD
        + """func @main(x: float32[2], y: float32[2]) -> float32[2]:
  a = Leaf(x)
  b = Leaf(y)
  node = Node(a, b)
  whole = Node(node, a)
  r = @total(whole)
  return r
"""
    )
    assert (
        found
        == """func @main(x: float32[2], y: float32[2]) -> float32[2]:
  c_1 = subtract(x, y)
  c = subtract(c_1, x)
  return c
"""
    )


def test_data_that_constants_make() -> None:
    found = known(TREE.replace("@grow(n,", "@grow(int64[](2),"))
    assert "Node" not in found
    assert found.count("subtract") == 3
    found = known(SUM.replace("@count(n, none)", "@count(int64[](3), none)"))
    assert "func @sum" not in found
    assert found.count("add") == 3
    rows = graph(MAPPED.replace("@rows(n,", "@rows(int64[](2),"))
    # Functions that say types with their own symbols are not copied into others.
    bound = transform(rows, [BindSymbols(()), UNFOLD, EliminateDead()])
    assert "Cons" not in text(bound)
    agree(rows, bound)
    found = known(ROSE.replace("@wide(n,", "@wide(int64[](2),"))
    assert "More" not in found


def test_functions_in_known_data_are_called_directly() -> None:
    found = known(LAYERS)
    assert [line for line in found.splitlines() if "call" in line] == [
        "  y = call scale(x)",
        "  y_1 = call scale(y)",
        "  y_2 = call bend(y_1)",
    ]
    assert "match" not in found


def test_known_data_in_tuples_and_in_branches_that_are_not_known() -> None:
    found = known(
        HEAD
        + """func @pair(tree: Tree, c: bool[]) -> (Tree, float32[2]):
  s = @total(tree)
  r = if c:
    other = Node(tree, tree)
    t = @total(other)
    yield t
  else:
    yield s
  both = Node(tree, tree)
  p = (both, r)
  return p

func @main(c: bool[], x: float32[2]) -> float32[2]:
  a = Leaf(x)
  p = @pair(a, c)
  tree = p[0]
  q = p[1]
  s = @total(tree)
  r = subtract(s, q)
  return r
"""
    )
    assert "match" not in found
    assert found.count("if") == 1


def test_what_is_not_known_stays() -> None:
    """A recursion that does not end with what is known; the limits; programs without a match."""
    for program in (SUM, TREE, ROSE, OPTION, MAPPED):
        start = graph(program)
        found = transform(start, [UNFOLD, EliminateDead()])
        assert any(
            isinstance(let.value, Match) for it in functions(found) for let in all_lets(it.body)
        )
        agree(start, found)
    assert UNFOLD.apply(counts := graph(COUNT)) is counts
    program = TREE.replace("@grow(n,", "@grow(int64[](4),")
    for unfold in (Unfold(Interpreter(), nested=4), Unfold(Interpreter(), values=60)):
        assert "match" in known(program, unfold)
    assert "match" not in known(program, Unfold(Interpreter(), nested=5))


def test_a_prefix_that_is_known() -> None:
    """The end of the list is not: the call stays, and is made of the same values."""
    start = graph(SUM.replace("s = @sum(all, x)", "longer = Cons(x, all)\n  s = @sum(longer, x)"))
    found = transform(start, [UNFOLD, EliminateDead()])
    assert "@sum(longer, x)" in text(found)
    given = [np.array(4), np.array(3)]
    same_values(evaluate(found, given), evaluate(start, given))


def test_functions_whose_types_a_copy_would_lose() -> None:
    start = graph(
        LIST
        + """
func @same(x: float32[N]) -> float32[N]:
  return x

func @first(all: List[float32[2]], x: float32[2]) -> float32[2]:
  f: fn(float32[2]) -> float32[2] = @same
  r = match all:
    Nil:
      yield x
    Cons(head, tail):
      y = call f(head)
      yield y
  return r

func @main(x: float32[2]) -> float32[2]:
  none = Nil[float32[2]]()
  all = Cons(x, none)
  y = @first(all, x)
  return y
"""
    )
    found = transform(start, [UNFOLD])
    assert "@first(all, x)" in text(found)
    agree(start, found)
    bound = transform(start, [BindSymbols(()), UNFOLD, EliminateDead()])
    assert "match" not in text(bound)
    agree(start, bound)


@pytest.mark.parametrize("symbol", ["float32[2]", "float32[K]"])
def test_symbols(symbol: str) -> None:
    program = (
        LIST
        + """
func @join(all: List[float32[N]], x: float32[N]) -> float32[N]:
  r = match all:
    Nil:
      yield x
    Cons(head, tail):
      none = Nil[float32[N]]()
      y = @join(none, head)
      z = add(x, y)
      yield z
  return r

func @main(x: SYMBOL) -> SYMBOL:
  none = Nil[SYMBOL]()
  all = Cons(x, none)
  y = @join(all, x)
  return y
""".replace("SYMBOL", symbol)
    )
    start = graph(program)
    found = transform(start, [UNFOLD, EliminateDead()])
    # The text of the function says types with its own symbols: it is not copied into another.
    assert "@join(all, x)" in text(found)
    given = [np.ones(2, np.float32)]
    same_values(evaluate(found, given), evaluate(start, given))
