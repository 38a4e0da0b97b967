"""Static memory planning: tensors whose live ranges do not overlap share memory.

To find the least memory is NP-hard (dynamic storage allocation: Garey and Johnson, SR2). So tensors
are placed one after the other in the lowest gap that is wide enough, in several orders, of which
largest first is nearly always the best (as Pisarchyk and Lee found for networks, 2020); the
smallest plan is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.errors import GraphError


@dataclass(frozen=True, slots=True)
class LiveRange:
    """The memory that a tensor needs, and when.

    Attributes
    ----------
    size
        Bytes.
    first, last
        The first and the last moment at which the tensor is live.
    """

    name: str
    size: int
    first: int
    last: int

    def __post_init__(self) -> None:
        if self.size < 0 or self.first > self.last:
            raise GraphError(
                f"{self.name} has {self.size} bytes and is live from {self.first} to {self.last}: "
                "the size must not be negative, nor the end before the start"
            )

    def overlaps(self, other: LiveRange) -> bool:
        """Whether both are live at some moment."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Offsets of tensors in one block of memory.

    Attributes
    ----------
    offsets
        Bytes from the start of the block, in the order of the live ranges.
    size
        Bytes of the block.
    """

    offsets: tuple[int, ...]
    size: int


def plan_memory(ranges: Sequence[LiveRange], alignment: int = 64) -> MemoryPlan:
    """An offset for each tensor, a multiple of `alignment`; live tensors never share memory.

    Raises
    ------
    GraphError
        If `alignment` is under 1.
    """
    if alignment < 1:
        raise GraphError(f"an alignment of {alignment}: 1 or more is allowed")
    keys: list[Callable[[int], tuple[int, ...]]] = [
        lambda at: (-ranges[at].size, ranges[at].first),
        lambda at: (ranges[at].first, -ranges[at].size),
        lambda at: (ranges[at].first - ranges[at].last, -ranges[at].size),
    ]
    orders = (sorted(range(len(ranges)), key=key) for key in keys)
    plans = (_first_fit(ranges, order, alignment) for order in orders)
    return min(plans, key=lambda plan: plan.size)


def peak(ranges: Sequence[LiveRange], alignment: int = 64) -> int:
    """The most bytes that are live at one moment: a lower bound of every plan."""
    changes = [
        (moment, sign * _aligned(live.size, alignment))
        for live in ranges
        for moment, sign in ((live.first, 1), (live.last + 1, -1))
    ]
    living = most = 0
    for _, change in sorted(changes):
        living += change
        most = max(most, living)
    return most


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _first_fit(ranges: Sequence[LiveRange], order: Sequence[int], alignment: int) -> MemoryPlan:
    offsets: dict[int, int] = {}
    for number in order:
        own = ranges[number]
        size = _aligned(own.size, alignment)
        taken = sorted(
            (offset, offset + _aligned(ranges[other].size, alignment))
            for other, offset in offsets.items()
            if ranges[other].overlaps(own)
        )
        place = 0
        for start, end in taken:
            if place + size <= start:
                break
            place = max(place, end)
        offsets[number] = place
    ends = (offset + _aligned(ranges[number].size, alignment) for number, offset in offsets.items())
    return MemoryPlan(tuple(offsets[each] for each in range(len(ranges))), max(ends, default=0))
