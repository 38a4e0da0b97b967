"""Tile sizes that fit: the search that choices of tiles share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

from compiler.errors import CapacityError
from hw.config import HardwareConfig
from hw.memories import MemoryId

__all__ = ["Sizes", "Space", "cheapest", "pieces", "resident_or_not", "shared_axis"]

Found = TypeVar("Found")

Sizes = tuple[int, ...]
"""Of a tile, along each axis of a search."""


@dataclass(frozen=True, slots=True)
class Space:
    """What tiles are cut from, and what they take.

    Attributes
    ----------
    what
        The operator, for messages.
    extents
        By the names of axes.
    use
        From a tile's sizes to the elements that all virtual threads together take of each memory.
    cost
        From a tile's sizes to what is to be small.
    most
        Upper bounds of sizes, by the names of axes, where there are any.
    """

    what: str
    extents: Mapping[str, int]
    use: Callable[[Sizes], Mapping[MemoryId, int]]
    cost: Callable[[Sizes], tuple[int, ...]]
    most: Mapping[str, int]


def pieces(extent: int, size: int) -> int:
    """How many tiles of a size an axis has."""
    return -(-extent // size)


def cheapest(space: Space, config: HardwareConfig) -> Sizes:
    """Of the sizes that fit on chip, those that cost least.

    Raises
    ------
    CapacityError
        Where not even tiles of size 1 fit: says what they take of which memory.
    """
    choices = [
        [
            size
            for size in {pieces(extent, count) for count in range(1, extent + 1)}
            if size <= space.most.get(axis, extent)
        ]
        for axis, extent in space.extents.items()
    ]
    fitting = [
        sizes
        for sizes in product(*choices)
        if all(used <= config.depth(memory) for memory, used in space.use(sizes).items())
    ]
    if not fitting:
        raise CapacityError(_too_large(space, config))
    return min(fitting, key=space.cost)


def resident_or_not(
    choose: Callable[[bool], Found], operands: int, config: HardwareConfig
) -> Found:
    """What `choose` finds, where operands for each channel stay on chip (True) or do not.

    They stay where they take no more than a quarter of ACC; where nothing fits, the other way.

    Parameters
    ----------
    operands
        Accumulators that all of them take.
    """
    resident = 4 * operands <= config.depth(MemoryId.ACC)
    try:
        return choose(resident)
    except CapacityError:
        return choose(not resident)


def shared_axis(extents: Mapping[str, int], threads: int) -> tuple[str, int]:
    """The axis whose tiles virtual threads share: the first that has one for each.

    Returns
    -------
    tuple
        The axis, and for how many threads there is work.
    """
    for axis, extent in extents.items():
        if extent >= threads:
            return axis, threads
    axis = max(extents, key=lambda each: extents[each])
    return axis, extents[axis]


def _too_large(space: Space, config: HardwareConfig) -> str:
    least = space.use(tuple(1 for _ in space.extents))
    lacking = [
        f"{used:,} elements of {memory.name}, which has {config.depth(memory):,}"
        for memory, used in least.items()
        if used > config.depth(memory)
    ]
    return (
        f"{space.what} does not fit on {config.name}: the smallest tiles take {'; '.join(lacking)}"
    )
