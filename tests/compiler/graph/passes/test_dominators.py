"""Post-dominators, against their definition."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.graph.opspec import Pattern
from compiler.graph.passes.dominators import Edge, post_dominators

Users = list[list[Edge]]


@st.composite
def dags(draw: st.DrawFn) -> tuple[Users, list[bool]]:
    """Users of each node, and which are used elsewhere."""
    count = draw(st.integers(1, 9))
    users: Users = []
    for node in range(count):
        later = st.integers(node + 1, count - 1)
        places = draw(st.sets(later, max_size=3)) if node + 1 < count else set()
        users.append([Edge(each, draw(st.sampled_from(Pattern))) for each in sorted(places)])
    return users, [draw(st.integers(0, 4)) == 0 for _ in range(count)]


def ways(users: Users, escapes: list[bool], node: int) -> list[list[Edge]]:
    """All ways from a node to where it leaves the graph."""
    found = [[Edge(node, Pattern.ELEMENTWISE), *way] for way in _ways(users, escapes, node)]
    return found


def _ways(users: Users, escapes: list[bool], node: int) -> list[list[Edge]]:
    ends: list[list[Edge]] = [[]] if escapes[node] or not users[node] else []
    return ends + [
        [edge, *rest] for edge in users[node] for rest in _ways(users, escapes, edge.user)
    ]


@settings(max_examples=150)
@given(dags())
def test_against_all_ways(graph: tuple[Users, list[bool]]) -> None:
    users, escapes = graph
    for node, found in enumerate(post_dominators(users, escapes)):
        every = _ways(users, escapes, node)
        common = set.intersection(*({edge.user for edge in way} for way in every))
        if not common:
            assert found is None
            continue
        assert found is not None
        assert found.node == min(common)
        before = [
            edge.pattern
            for way in every
            for edge in way[: [each.user for each in way].index(found.node) + 1]
        ]
        assert found.pattern == max(before)
        assert found.depth == len(common)
