"""Which operators become one kernel: TVM's rules (Chen et al., OSDI'18, section 3).

An operator joins the one in which everything that is made of it ends, together with all that lies
between, if what lies between is simple enough. First convolutions and their like take what follows
element by element, and simple operators join each other; then, when the large groups are made, what
only moves elements joins what reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.graph.opspec import Pattern

__all__ = ["Edge", "PostDominator", "groups_of", "post_dominators"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A use of a node by a later one.

    Attributes
    ----------
    pattern
        How the user reads it.
    """

    user: int
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class PostDominator:
    """The first node through which everything goes that is made of another one.

    Attributes
    ----------
    pattern
        The least simple way in which something is read on the way there.
    depth
        How many post-dominators follow, itself included.
    """

    node: int
    pattern: Pattern
    depth: int


def post_dominators(
    users: Sequence[Sequence[Edge]], escapes: Sequence[bool]
) -> list[PostDominator | None]:
    """The nearest post-dominator of each node; None where a result has no single one.

    Parameters
    ----------
    users
        The uses of each node. Users come after what they use.
    escapes
        Nodes that are used beyond the graph too.
    """
    found: list[PostDominator | None] = [None] * len(users)
    for node in reversed(range(len(users))):
        if escapes[node] or not users[node]:
            continue
        first, *others = users[node]
        place: int | None = first.user
        pattern = first.pattern
        for each in others:
            place, between = _meet(found, place, each.user)
            pattern = max(pattern, each.pattern, between)
        if place is not None:
            after = found[place]
            found[node] = PostDominator(place, pattern, 1 if after is None else after.depth + 1)
    return found


def _meet(
    found: Sequence[PostDominator | None], left: int | None, right: int | None
) -> tuple[int | None, Pattern]:
    """The first node on both ways, and the least simple pattern up to there."""
    pattern = Pattern.ELEMENTWISE
    while left != right:
        if left is None or right is None:
            return None, pattern
        a, b = found[left], found[right]
        deep_a, deep_b = (0 if each is None else each.depth for each in (a, b))
        if deep_a >= deep_b:
            pattern = pattern if a is None else max(pattern, a.pattern)
            left = None if a is None else a.node
        if deep_b >= deep_a:
            pattern = pattern if b is None else max(pattern, b.pattern)
            right = None if b is None else b.node
    return left, pattern


_Allowed = Callable[[Pattern, bool], bool]
"""From the pattern of a group, and whether it is the last one."""


def groups_of(
    patterns: Sequence[Pattern],
    users: Sequence[Sequence[Edge]],
    escapes: Sequence[bool],
    limit: int,
) -> list[int]:
    """For each node the last node of its group, which is the only one that is used outside.

    Parameters
    ----------
    patterns
        Of the nodes themselves.
    users, escapes
        As `post_dominators`.
    limit
        Nodes of the largest group.
    """
    return _Groups(patterns, users, escapes, limit).found()


class _Groups:
    def __init__(
        self,
        patterns: Sequence[Pattern],
        users: Sequence[Sequence[Edge]],
        escapes: Sequence[bool],
        limit: int,
    ) -> None:
        self._patterns = list(patterns)
        """Of a group, at its last node: its own, or that of what is large in it."""
        self._users = users
        self._after = post_dominators(users, escapes)
        self._limit = limit
        self._parents = list(range(len(patterns)))
        self._sizes = [1] * len(patterns)

    def found(self) -> list[int]:
        """The groups."""
        for moves in (False, True):
            for node, after in enumerate(self._after):
                if after is not None and self._last(node) != self._last(after.node):
                    self._try(node, after, moves)
        return [self._last(node) for node in range(len(self._parents))]

    def _last(self, node: int) -> int:
        while self._parents[node] != node:
            self._parents[node] = self._parents[self._parents[node]]
            node = self._parents[node]
        return node

    def _try(self, node: int, after: PostDominator, moves: bool) -> None:
        """Join a group with what comes after it, if that is allowed now."""
        pattern = self._patterns[self._last(node)]
        if pattern is Pattern.OUT_FUSABLE and not moves:
            if after.pattern is Pattern.ELEMENTWISE:
                self._join(node, after.node, lambda each, _: each <= Pattern.BROADCAST)
        elif pattern <= Pattern.BROADCAST and not moves:
            if after.pattern <= Pattern.REDUCTION:
                self._join(node, after.node, _simple)
        elif pattern is Pattern.INJECTIVE and moves:
            self._join(node, after.node, lambda each, _: each <= Pattern.INJECTIVE)

    def _join(self, node: int, sink: int, allowed: _Allowed) -> None:
        between = self._between(node, sink)
        groups = {self._last(each) for each in between}
        target = self._last(sink)
        if not all(
            allowed(self._patterns[self._last(each)], each == sink) for each in between - {node}
        ):
            return
        if sum(self._sizes[each] for each in groups | {target}) > self._limit:
            return
        for each in groups - {target}:
            if self._patterns[each] is Pattern.OUT_FUSABLE:
                self._patterns[target] = Pattern.OUT_FUSABLE
            self._parents[each] = target
            self._sizes[target] += self._sizes[each]

    def _between(self, node: int, sink: int) -> set[int]:
        """All on the ways from `node` to `sink`, both included."""
        found = {node, sink}
        waiting = [node]
        while waiting:
            for edge in self._users[waiting.pop()]:
                if edge.user not in found:
                    found.add(edge.user)
                    waiting.append(edge.user)
        return found


def _simple(pattern: Pattern, last: bool) -> bool:
    """A group that simple operators may join, or pass on the way there."""
    return pattern <= Pattern.INJECTIVE or (last and pattern <= Pattern.OUT_FUSABLE)
