"""Static memory planning: tensors whose live ranges do not overlap share memory.

The minimum is NP-hard to find (dynamic storage allocation: Garey and Johnson, SR2). So tensors are
placed first-fit, in several orders, and the smallest plan is selected; the best order is nearly
always largest first (as Pisarchyk and Lee found for networks, 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tandem.compiler.errors import GraphError


@dataclass(frozen=True, slots=True)
class LiveRange:
    """The size of a tensor and the times at which it is live.

    Attributes
    ----------
    size
        Bytes.
    first, last
        The first and the last time at which the tensor is live, both inclusive.
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
        """Whether both tensors are live at the same time."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Offsets of tensors in a block of memory.

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
    """Offsets, multiples of `alignment`; tensors that are live at the same time do not overlap.

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
    """The maximum number of bytes live at a time: a lower bound of every plan's size."""
    changes = [
        (time, sign * _aligned(live.size, alignment))
        for live in ranges
        for time, sign in ((live.first, 1), (live.last + 1, -1))
    ]
    live_bytes = maximum = 0
    for _, change in sorted(changes):
        live_bytes += change
        maximum = max(maximum, live_bytes)
    return maximum


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
        free = 0
        for start, end in taken:
            if free + size <= start:
                break
            free = max(free, end)
        offsets[number] = free
    ends = (offset + _aligned(ranges[number].size, alignment) for number, offset in offsets.items())
    return MemoryPlan(tuple(offsets[each] for each in range(len(ranges))), max(ends, default=0))
