"""Which operators become one kernel: TVM's rules (Chen et al., OSDI'18, section 3).

An operator joins the one in which everything that is made of it ends, together with all that lies
between, if what lies between is simple enough. First convolutions and their like take what follows
element by element, and simple operators join each other; then, when the large groups are made, what
only moves elements joins what reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.graph.opspec import Pattern
from compiler.graph.passes.dominators import Edge, PostDominator, post_dominators

__all__ = ["groups_of"]

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
