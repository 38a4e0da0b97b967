"""Views that are read in place, and those that are kernels."""

from __future__ import annotations

import pytest

from tandem.compiler.graph import Call, Function
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes.grouping import Edge
from tandem.compiler.graph.passes.views import view_readers
from tandem.compiler.graph.visit import names_of
from tests.support.compiler.graph.graphs import graph


def readers(
    function: Function, groups: list[int], escapes: str = "", limit: int = 10
) -> dict[str, set[str]]:
    """The groups, by the name of their last value, that compute each view."""
    lets = function.body.lets
    names = [let.name for let in lets]
    users: list[list[Edge]] = [[] for _ in lets]
    for at, let in enumerate(lets):
        assert isinstance(let.value, Call)
        assert isinstance(let.value.callee, OpSpec)
        for name in names_of(let.value):
            if name in names:
                users[names.index(name)].append(Edge(at, let.value.callee.pattern))
    found = view_readers(
        lets, groups, users, [name in escapes for name in names], infer(function), limit
    )
    return {names[at]: {names[group] for group in each} for at, each in found.items()}


CUT = """
func @f(x: float32[4, 4], i: int64[]):
  s = slice(x, starts=[1], ends=[3])
  r = relu(s)
  e = exp(s)
  return r
"""


def test_a_slice() -> None:
    assert readers(graph(CUT), [0, 1, 2]) == {"s": {"r", "e"}}
    # What leaves the body has to be there.
    assert readers(graph(CUT), [0, 1, 2], escapes="s") == {}
    # Groups of as many operators as are allowed, and of more.
    assert readers(graph(CUT), [0, 1, 2], limit=2) == {"s": {"r", "e"}}
    assert readers(graph(CUT), [0, 1, 2], limit=1) == {}
    # In one group with what reads it there is no view alone.
    assert readers(graph(CUT), [1, 1, 2]) == {}


@pytest.mark.parametrize(
    ("line", "is_view"),
    [
        ("slice(x, starts=[1], ends=[3], steps=[1])", True),
        ("slice(x, starts=[0], ends=[4], steps=[2])", False),
        ("gather(x, i)", True),
        ("gather(x, int64[](1))", False),
        ("gather(x, j)", False),
        ("negative(x)", False),
        ("transpose(x)", False),
    ],
)
def test_what_is_a_view(line: str, is_view: bool) -> None:
    program = CUT.replace("i: int64[]", "i: int64[], j: int64[2]")
    program = program.replace("slice(x, starts=[1], ends=[3])", line)
    assert readers(graph(program), [0, 1, 2]) == ({"s": {"r", "e"}} if is_view else {})


@pytest.mark.parametrize("other", ["add(s, s)", "reduce_sum(s)", "transpose(s)"])
def test_readers_that_are_not_element_by_element(other: str) -> None:
    program = CUT.replace("exp(s)", other)
    assert readers(graph(program), [0, 1, 2]) == {}


VIEWS = """
func @f(x: float32[4, 4, 4], w: float32[1, 4, 1, 1]):
  s = slice(x, starts=[1], ends=[3])
  t = slice(s, starts=[0], ends=[1])
  r = relu(t)
  u = unsqueeze(r, axes=[0])
  v = transpose(u, perm=[1, 2, 0, 3])
  return v
"""


def test_views_of_views() -> None:
    # Each by itself, and both as one group: with what reads the last.
    assert readers(graph(VIEWS), [0, 1, 2, 3, 4]) == {"s": {"r"}, "t": {"r"}}
    assert readers(graph(VIEWS), [1, 1, 2, 3, 4]) == {"s": {"r"}, "t": {"r"}}
    assert readers(graph(VIEWS), [0, 1, 2, 3, 4], limit=3) == {"s": {"r"}, "t": {"r"}}
    assert readers(graph(VIEWS), [0, 1, 2, 3, 4], limit=2) == {"t": {"r"}}
    # If the second is none, the first has nobody to compute it.
    assert readers(graph(VIEWS), [0, 1, 2, 3, 4], escapes="t") == {}


def test_no_reader() -> None:
    alone = graph("func @f(x: float32[4]):\n  s = slice(x, starts=[1], ends=[3])\n  return x")
    assert readers(alone, [0]) == {}


def test_kernels_of_convolutions_are_closed() -> None:
    function = graph("""
func @f(x: float32[1, 4, 4, 4], w: float32[4, 4, 1, 1], y: float32[2, 4, 4, 4]):
  s = slice(y, starts=[1], ends=[2])
  r = relu(s)
  c = conv2d(x, w)
  a = add(c, r)
  return a
""")
    assert readers(function, [0, 1, 2, 3]) == {"s": {"r"}}
    assert readers(function, [0, 3, 3, 3]) == {}
