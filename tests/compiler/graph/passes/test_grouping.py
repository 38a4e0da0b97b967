"""Groups can run as one: whatever the graph."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.graph.opspec import OpPattern
from tandem.compiler.graph.passes.grouping import Edge, groups_of, post_dominators

Users = list[list[Edge]]


@st.composite
def dags(draw: st.DrawFn) -> tuple[Users, list[bool]]:
    """Users of each node, and which are used elsewhere."""
    count = draw(st.integers(1, 9))
    users: Users = []
    for node in range(count):
        later = st.integers(node + 1, count - 1)
        places = draw(st.sets(later, max_size=3)) if node + 1 < count else set()
        users.append([Edge(each, draw(st.sampled_from(OpPattern))) for each in sorted(places)])
    return users, [draw(st.integers(0, 4)) == 0 for _ in range(count)]


def ways(users: Users, escapes: list[bool], node: int) -> list[list[Edge]]:
    """All ways from a node to where it leaves the graph."""
    found = [[Edge(node, OpPattern.ELEMENTWISE), *way] for way in _ways(users, escapes, node)]
    return found


def _ways(users: Users, escapes: list[bool], node: int) -> list[list[Edge]]:
    ends: list[list[Edge]] = [[]] if escapes[node] or not users[node] else []
    return ends + [
        [edge, *rest] for edge in users[node] for rest in _ways(users, escapes, edge.user)
    ]


@settings(max_examples=150)
@given(dags())
def test_post_dominators_against_all_ways(graph: tuple[Users, list[bool]]) -> None:
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


LARGE = (OpPattern.REDUCTION, OpPattern.OUT_FUSABLE, OpPattern.NORMALISATION, OpPattern.OPAQUE)


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[OpPattern], list[list[Edge]], list[bool], int]:
    """Patterns, users, what is used elsewhere, and a limit."""
    count = draw(st.integers(1, 14))
    simple = st.sampled_from([OpPattern.ELEMENTWISE, OpPattern.BROADCAST, OpPattern.INJECTIVE])
    patterns = [draw(st.one_of(simple, simple, st.sampled_from(OpPattern))) for _ in range(count)]
    users: list[list[Edge]] = [[] for _ in range(count)]
    for node in range(1, count):
        for source in draw(st.sets(st.integers(max(node - 4, 0), node - 1), max_size=3)):
            same = patterns[node] is OpPattern.BROADCAST and draw(st.booleans())
            pattern = OpPattern.ELEMENTWISE if same else patterns[node]
            users[source].append(Edge(node, pattern))
    escapes = [draw(st.integers(0, 6)) == 0 for _ in range(count)]
    return patterns, users, escapes, draw(st.sampled_from([2, 4, 100]))


@settings(max_examples=250)
@given(programs())
def test_groups_can_run_as_one(
    program: tuple[list[OpPattern], list[list[Edge]], list[bool], int],
) -> None:
    patterns, users, escapes, limit = program
    groups = groups_of(patterns, users, escapes, limit)
    members: dict[int, list[int]] = {}
    for node, group in enumerate(groups):
        members.setdefault(group, []).append(node)
    for group, nodes in members.items():
        assert group == max(nodes)
        assert len(nodes) <= limit
        # Only the last is used elsewhere: nothing inside has to be kept.
        for node in nodes:
            outside = [edge for edge in users[node] if groups[edge.user] != group]
            assert node == group or not (outside or escapes[node])
        assert sum(patterns[node] in LARGE for node in nodes) <= 1
        assert len(nodes) == 1 or not any(patterns[node] is OpPattern.OPAQUE for node in nodes)
        # What is after a reduction is not in its group.
        for node in nodes:
            assert patterns[node] is not OpPattern.REDUCTION or node == group
        # What a normalisation reads is not read again behind it.
        for node in nodes:
            inside = [edge.user for edge in users[node] if groups[edge.user] == group]
            readers = {patterns[each] for each in inside}
            assert (
                OpPattern.NORMALISATION not in readers
                or patterns[max(inside)] is OpPattern.NORMALISATION
            )
    # Groups do not wait for each other: each needs only what is complete before its last node.
    for node, edges in enumerate(users):
        for edge in edges:
            assert groups[node] <= groups[edge.user]
            assert groups[node] == groups[edge.user] or groups[node] == node


def test_by_hand() -> None:
    """A convolution, its bias and activation; the sum with a shortcut; a reduction of that."""
    names = ["conv", "bias", "relu", "short", "conv2", "sum", "mean"]
    patterns = [
        *(OpPattern.OUT_FUSABLE, OpPattern.BROADCAST, OpPattern.ELEMENTWISE, OpPattern.INJECTIVE),
        *(OpPattern.OUT_FUSABLE, OpPattern.BROADCAST, OpPattern.REDUCTION),
    ]
    users: list[list[Edge]] = [
        [Edge(1, OpPattern.ELEMENTWISE)],
        [Edge(2, OpPattern.ELEMENTWISE)],
        [Edge(3, OpPattern.INJECTIVE), Edge(4, OpPattern.OUT_FUSABLE)],
        [Edge(5, OpPattern.ELEMENTWISE)],
        [Edge(5, OpPattern.ELEMENTWISE)],
        [Edge(6, OpPattern.REDUCTION)],
        [],
    ]
    groups = groups_of(patterns, users, [False] * 7, limit=10)
    # The shortcut moves elements, and so does not join the group that a convolution leads.
    assert [names[each] for each in groups] == [
        *("relu", "relu", "relu", "short", "sum", "sum", "mean")
    ]


def test_a_normalisation_by_hand() -> None:
    """Attention's scores: brought into rows, scaled, and rounded as the second product needs
    them; the length of what is stored counts once."""
    names = ["unpack", "scale", "softmax", "quantise", "pack", "product"]
    patterns = [
        *(OpPattern.INJECTIVE, OpPattern.BROADCAST, OpPattern.NORMALISATION),
        *(OpPattern.BROADCAST, OpPattern.INJECTIVE, OpPattern.OPAQUE),
    ]
    users = [
        [Edge(1, OpPattern.ELEMENTWISE)],
        [Edge(2, OpPattern.NORMALISATION, reads=2)],
        [Edge(3, OpPattern.ELEMENTWISE)],
        [Edge(4, OpPattern.INJECTIVE)],
        [Edge(5, OpPattern.OPAQUE)],
        [],
    ]

    def grouped(longest: int) -> list[str]:
        lengths = [3, 2, 10, 4, 3, 1]
        groups = groups_of(patterns, users, [False] * 6, 10, lengths, longest)
        return [names[each] for each in groups]

    assert grouped(22) == [*["pack"] * 5, "product"]
    assert grouped(21) != grouped(22)


def test_joined_by_hand() -> None:
    """Casts of a layer's operands go with it, whatever its length, and no producer goes with them;
    what follows the layer does."""
    names = ["relu", "round", "cast", "move", "widen", "dense", "scale"]
    patterns = [
        *(OpPattern.ELEMENTWISE, OpPattern.ELEMENTWISE, OpPattern.ELEMENTWISE),
        *(OpPattern.INJECTIVE, OpPattern.ELEMENTWISE, OpPattern.OUT_FUSABLE, OpPattern.ELEMENTWISE),
    ]
    users: list[list[Edge]] = [
        [Edge(1, OpPattern.ELEMENTWISE)],
        [Edge(2, OpPattern.ELEMENTWISE)],
        [Edge(3, OpPattern.INJECTIVE)],
        [Edge(5, OpPattern.OUT_FUSABLE)],
        [Edge(5, OpPattern.OUT_FUSABLE)],
        [Edge(6, OpPattern.ELEMENTWISE)],
        [],
    ]
    lengths = [1, 1, 50, 1, 50, 5, 5]
    groups = groups_of(patterns, users, [False] * 7, 10, lengths, 20, joined=(2, 3, 4))
    assert [names[each] for each in groups] == ["round", "round", *["scale"] * 5]
    apart = groups_of(patterns, users, [False] * 7, 10, lengths, 20)
    assert [names[each] for each in apart] == [
        *("round", "round", "cast", "move", "widen", "scale", "scale")
    ]
