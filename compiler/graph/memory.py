"""Static memory: where tensors lie whose lives are known, so that those lie in the same place that
never live at the same time.

To find the least memory is NP-hard (dynamic storage allocation: Garey and Johnson, SR2). So tensors
are placed one after the other in the lowest gap that is wide enough, in several orders, of which
largest first is nearly always the best (as Pisarchyk and Lee found for networks, 2020); the plan of
the least size is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.errors import GraphError

__all__ = ["MemoryPlan", "Tenant", "peak", "plan_memory"]


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tensor that wants a place.

    Attributes
    ----------
    size
        Bytes.
    first, last
        The moments from which and up to which it must be kept, both included.
    """

    name: str
    size: int
    first: int
    last: int

    def __post_init__(self) -> None:
        if self.size < 0 or self.first > self.last:
            raise GraphError(
                f"{self.name} has {self.size} bytes and lives from {self.first} to {self.last}: 0 "
                "bytes or more are allowed, and a life that ends where it begins or later"
            )

    def meets(self, other: Tenant) -> bool:
        """Whether both live at some moment."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where tenants lie.

    Attributes
    ----------
    offsets
        Bytes from the start, in the order of the tenants.
    size
        Bytes of all.
    """

    offsets: tuple[int, ...]
    size: int


def plan_memory(tenants: Sequence[Tenant], alignment: int = 64) -> MemoryPlan:
    """A place for each tenant, a multiple of `alignment`; no two that meet overlap.

    Raises
    ------
    GraphError
        If `alignment` is under 1.
    """
    if alignment < 1:
        raise GraphError(f"an alignment of {alignment}: 1 or more is allowed")
    keys: list[Callable[[int], tuple[int, ...]]] = [
        lambda at: (-tenants[at].size, tenants[at].first),
        lambda at: (tenants[at].first, -tenants[at].size),
        lambda at: (tenants[at].first - tenants[at].last, -tenants[at].size),
    ]
    orders = (sorted(range(len(tenants)), key=key) for key in keys)
    plans = (_placed(tenants, order, alignment) for order in orders)
    return min(plans, key=lambda plan: plan.size)


def peak(tenants: Sequence[Tenant], alignment: int = 64) -> int:
    """Bytes that live at the same moment, at most: no plan takes less."""
    changes = [
        (moment, change * _aligned(each.size, alignment))
        for each in tenants
        for moment, change in ((each.first, 1), (each.last + 1, -1))
    ]
    living = most = 0
    for _, change in sorted(changes):
        living += change
        most = max(most, living)
    return most


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _placed(tenants: Sequence[Tenant], order: Sequence[int], alignment: int) -> MemoryPlan:
    offsets: dict[int, int] = {}
    for number in order:
        own = tenants[number]
        size = _aligned(own.size, alignment)
        taken = sorted(
            (offset, offset + _aligned(tenants[other].size, alignment))
            for other, offset in offsets.items()
            if tenants[other].meets(own)
        )
        place = 0
        for start, end in taken:
            if place + size <= start:
                break
            place = max(place, end)
        offsets[number] = place
    ends = (
        offset + _aligned(tenants[number].size, alignment) for number, offset in offsets.items()
    )
    return MemoryPlan(tuple(offsets[each] for each in range(len(tenants))), max(ends, default=0))
