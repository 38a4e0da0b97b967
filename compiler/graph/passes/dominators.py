"""Where all that is made of a value comes together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.graph.opspec import Pattern

__all__ = ["Edge", "PostDominator", "post_dominators"]


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
