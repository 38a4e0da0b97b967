"""Sizes of tiles that a generator may draw."""

from __future__ import annotations

from typing import Final

_WASTE: Final = 1.15
"""How many iterations a tile that does not divide an axis may add."""
_COUNTS: Final = (1, 2, 3, 4, 6, 8)


def divisions(extent: int, most: int) -> tuple[int, ...]:
    """The sizes of tiles of an axis, up to `most`, that divide it or nearly so; 1 is one."""
    return tuple(
        size
        for size in range(1, max(1, min(extent, most)) + 1)
        if size == 1 or -(-extent // size) * size <= _WASTE * extent
    )


def vector_sizes(extent: int, lanes: int, most: int) -> tuple[int, ...]:
    """The sizes of whole vectors along an axis, up to so many registers; the axis if it is no
    longer."""
    if extent <= lanes:
        return (extent,)
    sizes = (min(count * lanes, extent) for count in _COUNTS if count <= most)
    return tuple(dict.fromkeys(size for size in sizes))
