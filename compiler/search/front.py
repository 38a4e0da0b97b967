"""Pareto fronts, and the volumes that they dominate. All objectives are to be small."""

from __future__ import annotations

from collections.abc import Sequence

Values = tuple[float, ...]


def dominates(one: Values, other: Values) -> bool:
    """Whether a point is nowhere worse than another, and better somewhere."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and one != other


def pareto_front(points: Sequence[Values]) -> tuple[int, ...]:
    """The positions of the points that no other dominates; of equal points the first."""
    order = sorted(range(len(points)), key=lambda at: (points[at], at))
    front: list[int] = []
    for at in order:
        # Points that come earlier in this order are never dominated by those that come later.
        if not any(
            points[other] == points[at] or dominates(points[other], points[at]) for other in front
        ):
            front.append(at)
    return tuple(sorted(front))


def hypervolume(points: Sequence[Values], corner: Values) -> float:
    """The volume between the points and a corner that is worse than all of them.

    Points beyond the corner count for nothing. By slices along the last objective.
    """
    inside = [point for point in points if all(a < b for a, b in zip(point, corner, strict=True))]
    if not inside:
        return 0.0
    if len(corner) == 1:
        return corner[0] - min(point[0] for point in inside)
    inside.sort(key=lambda point: point[-1])
    ends = [*(point[-1] for point in inside[1:]), corner[-1]]
    volume = 0.0
    for number, end in enumerate(ends):
        if end > inside[number][-1]:
            below = [point[:-1] for point in inside[: number + 1]]
            kept = [below[at] for at in pareto_front(below)]
            volume += hypervolume(kept, corner[:-1]) * (end - inside[number][-1])
    return volume
