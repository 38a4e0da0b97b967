"""Groups of operators that become one kernel, by TVM's rules (Chen et al., OSDI'18, section 3).

An operator is fused with its post-dominator and all operators on the paths between the two, if
their patterns allow. Phase 1 fuses convolutions and similar operators with the element-wise
operators that follow, and simple operators with each other; phase 2 fuses injective operators with
their users, and normalisations with the simple operators that follow. Before both, what widens
elements for a reduction joins that: the narrow elements are stored. So does what is computed where
its one reader reads it, such as the factors of a layer, whatever that is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tandem.compiler.graph.opspec import OpPattern


@dataclass(frozen=True, slots=True)
class Edge:
    """A use of a node by the later node `user`, which reads it with `pattern`, in `reads` places
    of its expression."""

    user: int
    pattern: OpPattern
    reads: int = 1


@dataclass(frozen=True, slots=True)
class PostDominator:
    """The nearest post-dominator of a node: the first that all paths to the results share.

    Attributes
    ----------
    pattern
        The most general pattern of the edges on the paths to `node`.
    depth
        The number of post-dominators: `node`, the post-dominator of `node`, and so on.
    """

    node: int
    pattern: OpPattern
    depth: int


def post_dominators(
    users: Sequence[Sequence[Edge]], escapes: Sequence[bool]
) -> list[PostDominator | None]:
    """The nearest post-dominator of each node; None for a node without one.

    Parameters
    ----------
    users
        The uses of each node, in topological order.
    escapes
        Whether a node is a result of the graph.
    """
    found: list[PostDominator | None] = [None] * len(users)
    for node in reversed(range(len(users))):
        if escapes[node] or not users[node]:
            continue
        first, *others = users[node]
        meet: int | None = first.user
        pattern = first.pattern
        for edge in others:
            meet, between = _meet(found, meet, edge.user)
            pattern = max(pattern, edge.pattern, between)
        if meet is not None:
            after = found[meet]
            found[node] = PostDominator(meet, pattern, 1 if after is None else after.depth + 1)
    return found


def _meet(
    found: Sequence[PostDominator | None], left: int | None, right: int | None
) -> tuple[int | None, OpPattern]:
    """The nearest common post-dominator, and the most general pattern on the paths to it."""
    pattern = OpPattern.ELEMENTWISE
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


_Allowed = Callable[[OpPattern, bool], bool]
"""Whether to fuse a group, from its pattern and whether it contains the post-dominator."""


def groups_of(
    patterns: Sequence[OpPattern],
    users: Sequence[Sequence[Edge]],
    escapes: Sequence[bool],
    limit: int,
    lengths: Sequence[int] | None = None,
    longest: int = 0,
    widens: Sequence[bool] | None = None,
    joined: Collection[int] = (),
) -> list[int]:
    """For each node the last node of its group; only the last node is used outside the group.

    Parameters
    ----------
    patterns
        The nodes' patterns.
    users, escapes
        Parameters of `post_dominators`.
    limit
        The maximum number of nodes in a group.
    lengths
        The length of each node's expression; None for groups of any length.
    longest
        The maximum length of a group's expression. A node that is neither a reduction nor more
        complex is copied to each place that reads it, so that lengths multiply; a normalisation
        reads one copy.
    widens
        Whether a node's elements are wider than those that it reads; None if no node's are.
    joined
        Nodes that join the group of the one node that reads each, and that no others join.
    """
    groups = _Groups(patterns, users, escapes, limit, lengths, longest, joined)
    return groups.found(widens or ())


class _Groups:
    def __init__(
        self,
        patterns: Sequence[OpPattern],
        users: Sequence[Sequence[Edge]],
        escapes: Sequence[bool],
        limit: int,
        lengths: Sequence[int] | None,
        longest: int,
        joined: Collection[int],
    ) -> None:
        self._patterns = list(patterns)
        """The pattern of a group, at its last node."""
        self._inlined = [pattern <= OpPattern.INJECTIVE for pattern in patterns]
        self._lengths = lengths
        self._longest = longest
        self._users = users
        self._after = post_dominators(users, escapes)
        self._limit = limit
        self._parents = list(range(len(patterns)))
        self._members = [[node] for node in range(len(patterns))]
        """The nodes of a group, at its last node."""
        self._joined = frozenset(joined)

    def found(self, widens: Sequence[bool]) -> list[int]:
        """Fuse, and return the last node of each node's group."""
        for node in sorted(self._joined, reverse=True):
            (reader,) = self._users[node]
            self._parents[node] = reader.user
            self._members[self._last(node)].append(node)
        for node, is_wider in enumerate(widens):
            after = self._after[node]
            if is_wider and after is not None and after.pattern is OpPattern.REDUCTION:
                self._try(node, after, False)
        for injective in (False, True):
            for node, after in enumerate(self._after):
                if after is not None and self._last(node) != self._last(after.node):
                    self._try(node, after, injective)
        return [self._last(node) for node in range(len(self._parents))]

    def _last(self, node: int) -> int:
        while self._parents[node] != node:
            self._parents[node] = self._parents[self._parents[node]]
            node = self._parents[node]
        return node

    def _try(self, node: int, after: PostDominator, injective: bool) -> None:
        """Fuse a node's group with its post-dominator's group, if the phase allows."""
        if not self._joined.isdisjoint((node, after.node)):
            return
        pattern = self._patterns[self._last(node)]
        if pattern is OpPattern.OUT_FUSABLE and not injective:
            if after.pattern is OpPattern.ELEMENTWISE:
                self._fuse(node, after.node, lambda group, _: group <= OpPattern.BROADCAST)
        elif pattern <= OpPattern.BROADCAST and not injective:
            if after.pattern <= OpPattern.REDUCTION or after.pattern is OpPattern.NORMALISATION:
                self._fuse(node, after.node, _simple)
        elif pattern is OpPattern.INJECTIVE and injective:
            self._fuse(node, after.node, _injective)
        elif pattern is OpPattern.NORMALISATION and injective:
            if after.pattern <= OpPattern.INJECTIVE:
                self._fuse(node, after.node, lambda group, _: group <= OpPattern.INJECTIVE)

    def _fuse(self, node: int, sink: int, allowed: _Allowed) -> None:
        between = self._between(node, sink)
        groups = {self._last(each) for each in between}
        target = self._last(sink)
        patterns = ((self._patterns[self._last(each)], each == sink) for each in between - {node})
        if not all(allowed(*each) for each in patterns):
            return
        members = [each for group in groups for each in self._members[group]]
        if len(members) > self._limit or self._is_too_long(members, target):
            return
        for group in groups - {target}:
            if self._patterns[group] in (OpPattern.OUT_FUSABLE, OpPattern.NORMALISATION):
                self._patterns[target] = self._patterns[group]
            self._parents[group] = target
        self._members[target] = members

    def _is_too_long(self, members: Sequence[int], last: int) -> bool:
        """Whether the expression of a group would be longer than allowed, but for what is computed
        where its one reader reads it."""
        if self._lengths is None:
            return False
        copies = {last: 1}
        for node in sorted(members, reverse=True):
            if node != last and node not in self._joined:
                places = [
                    copies[edge.user]
                    * (1 if edge.pattern is OpPattern.NORMALISATION else edge.reads)
                    for edge in self._users[node]
                    if edge.user in copies
                ]
                copies[node] = sum(places) if self._inlined[node] else 1
        length = sum(count * self._lengths[node] for node, count in copies.items())
        return length > self._longest

    def _between(self, node: int, sink: int) -> set[int]:
        """All nodes on the paths from `node` to `sink`, both included."""
        found = {node, sink}
        waiting = [node]
        while waiting:
            for edge in self._users[waiting.pop()]:
                if edge.user not in found:
                    found.add(edge.user)
                    waiting.append(edge.user)
        return found


def _simple(pattern: OpPattern, last: bool) -> bool:
    """Whether simple operators may be fused with a group of this pattern."""
    return pattern <= OpPattern.INJECTIVE or (last and pattern <= OpPattern.NORMALISATION)


def _injective(pattern: OpPattern, last: bool) -> bool:
    """Whether injective operators may be fused with a group of this pattern."""
    return pattern <= OpPattern.INJECTIVE or (last and pattern is OpPattern.NORMALISATION)
