"""A copy in any number of dimensions, as LOADs or STOREs of two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product
from operator import attrgetter

__all__ = ["Axis", "Rectangle", "Zeros", "may_overlap", "pieces"]

LONGEST_PAD = 15
LONGEST_STRIDE = (1 << 16) - 1


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a copy, in elements.

    Attributes
    ----------
    extent
        Elements on chip.
    low, high
        Those from `low` up to, without, `high` come from DRAM; the others are zeros.
    sram, dram
        How far apart two neighbours lie.
    """

    extent: int
    low: int
    high: int
    sram: int
    dram: int

    @property
    def padded(self) -> bool:
        """Whether there are zeros at either end."""
        return self.low > 0 or self.high < self.extent


@dataclass(frozen=True, slots=True)
class Rectangle:
    """What one LOAD or STORE copies. `dram` is where its first element from DRAM lies."""

    sram: int
    dram: int
    rows: int
    columns: int
    stride: int
    pads: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Zeros:
    """Elements on chip that are to be zero."""

    sram: int
    count: int


def pieces(
    axes: list[Axis], sram: int, dram: int, *, loose: range | None = None
) -> Iterator[Rectangle | Zeros]:
    """The pieces of a copy, in the order of their addresses on chip.

    Parameters
    ----------
    sram, dram
        Where element 0 along each axis lies, padding or not.
    loose
        Elements on chip of which nobody uses those that the copy leaves out: zeros may be put
        there, so that one LOAD brings many rows that do not touch each other.
    """
    joined = _joined(axes)
    x = Axis(1, 0, 1, 1, 1)
    if joined and joined[0].sram == 1 and joined[0].dram == 1:
        x = joined.pop(0)
    if joined and loose is not None:
        moved = _stretched(x, joined, range(loose.start - sram, loose.stop - sram))
        sram, dram = sram + x.low - moved.low, dram + x.low - moved.low
        x = moved
    y = Axis(1, 0, 1, x.extent, 0)
    if joined and joined[0].sram == x.extent and 0 <= joined[0].dram <= LONGEST_STRIDE:
        y = joined.pop(0)
    rest = list(reversed(joined))
    for turn in product(*(range(each.extent) for each in rest)):
        at = sram + sum(i * each.sram for i, each in zip(turn, rest, strict=True))
        source = dram + sum(i * each.dram for i, each in zip(turn, rest, strict=True))
        if all(each.low <= i < each.high for i, each in zip(turn, rest, strict=True)):
            yield from _rectangle(y, x, at, source)
        else:
            yield Zeros(at, y.extent * x.extent)


def may_overlap(steps: Iterable[tuple[int, int]]) -> bool:
    """Whether two turns of loops may mean the same place: extents, and steps of either sign."""
    reach = 0
    for step, extent in sorted((abs(step), extent) for extent, step in steps if extent > 1):
        if step <= reach:
            return True
        reach += step * (extent - 1)
    return False


def _stretched(x: Axis, outer: list[Axis], loose: range) -> Axis:
    """`x` with zeros around it, as long as from one of its rows to the next; as it is where they
    have no room. `loose` counts from its first element."""
    row = outer[0].sram
    behind = sum((each.extent - 1) * each.sram for each in outer) + row
    # Zeros behind the last row may be others' elements: then there are more in front of each.
    front = max(0, behind - loose.stop)
    low, high = x.low + front, x.high + front
    inside = -front >= loose.start and x.extent + front <= row
    fits = inside and max(low, row - high) <= LONGEST_PAD
    nested = all(b.sram >= a.sram * a.extent for a, b in pairwise(outer))
    return replace(x, extent=row, low=low, high=high) if fits and nested else x


def _joined(axes: list[Axis]) -> list[Axis]:
    """Innermost first; what lies in one piece on both sides is one axis."""
    result: list[Axis] = []
    for axis in sorted(
        (each for each in axes if each.extent > 1 or each.padded), key=attrgetter("sram")
    ):
        last = result[-1] if result else None
        if (
            last is not None
            and not last.padded
            and axis.sram == last.sram * last.extent
            and axis.dram == last.dram * last.extent
        ):
            n = last.extent
            result[-1] = replace(last, extent=n * axis.extent, low=n * axis.low, high=n * axis.high)
        else:
            result.append(axis)
    return result


def _rectangle(y: Axis, x: Axis, sram: int, dram: int) -> Iterator[Rectangle | Zeros]:
    width, rows, columns = x.extent, y.high - y.low, x.high - x.low
    if rows <= 0 or columns <= 0:
        yield Zeros(sram, y.extent * width)
        return
    above, below = y.low, y.extent - y.high
    left, right = x.low, width - columns - x.low
    first = dram + y.low * y.dram + x.low * x.dram
    one_by_one = max(left, right) > LONGEST_PAD
    longest = 0 if one_by_one else LONGEST_PAD
    if above > longest:
        yield Zeros(sram, above * width)
        sram, above = sram + above * width, 0
    if one_by_one:
        for row in range(rows):
            yield from _row(sram + row * width, first + row * y.dram, columns, left, right)
    else:
        pads = above, below if below <= longest else 0, left, right
        yield Rectangle(sram, first, rows, columns, y.dram, pads)
    if below > longest:
        yield Zeros(sram + (above + rows) * width, below * width)


def _row(sram: int, dram: int, columns: int, left: int, right: int) -> Iterator[Rectangle | Zeros]:
    """One row by itself: padding at its ends is longer than an instruction has room for."""
    if left:
        yield Zeros(sram, left)
    yield Rectangle(sram + left, dram, 1, columns, 0, (0, 0, 0, 0))
    if right:
        yield Zeros(sram + left + columns, right)
