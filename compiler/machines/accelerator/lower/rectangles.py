"""A copy in any number of dimensions, as two-dimensional LOADs or STOREs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product
from operator import attrgetter

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
        Elements from `low` up to, without, `high` come from DRAM; all other elements are zeros.
    sram, dram
        The strides on chip and in DRAM.
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
    """The operands of a LOAD or STORE, in elements; `dram` is the first element copied."""

    sram: int
    dram: int
    rows: int
    columns: int
    stride: int
    pads: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Zeros:
    """Elements on chip that are set to zero."""

    sram: int
    count: int


def rectangles(
    axes: list[Axis], sram: int, dram: int, *, loose: range | None = None
) -> Iterator[Rectangle | Zeros]:
    """The rectangles of a copy, in the order of their addresses on chip.

    Parameters
    ----------
    sram, dram
        The addresses of element 0 along each axis, even if that element is padding.
    loose
        An on-chip range in which elements that the copy leaves out are never read: zeros may
        overwrite them, so that one LOAD copies many rows that are not adjacent on chip.
    """
    joined = _joined(axes)
    x = Axis(1, 0, 1, 1, 1)
    if joined and joined[0].sram == 1 and joined[0].dram == 1:
        x = joined.pop(0)
    if joined and loose is not None:
        padded = _padded_to_stride(x, joined, range(loose.start - sram, loose.stop - sram))
        sram, dram = sram + x.low - padded.low, dram + x.low - padded.low
        x = padded
    y = Axis(1, 0, 1, x.extent, 0)
    if joined and joined[0].sram == x.extent and 0 <= joined[0].dram <= LONGEST_STRIDE:
        y = joined.pop(0)
    rest = list(reversed(joined))
    for indices in product(*(range(each.extent) for each in rest)):
        along = list(zip(indices, rest, strict=True))
        at = sram + sum(i * axis.sram for i, axis in along)
        if all(axis.low <= i < axis.high for i, axis in along):
            yield from _rectangle(y, x, at, dram + sum(i * axis.dram for i, axis in along))
        else:
            yield Zeros(at, y.extent * x.extent)


def may_overlap(steps: Iterable[tuple[int, int]]) -> bool:
    """Whether two iterations may access one address; `steps` has (extent, stride) of each loop."""
    reach = 0
    for step, extent in sorted((abs(step), extent) for extent, step in steps if extent > 1):
        if step <= reach:
            return True
        reach += step * (extent - 1)
    return False


def _padded_to_stride(x: Axis, outer: list[Axis], loose: range) -> Axis:
    """`x` padded with zeros to the stride of its rows; `x` itself where the padding does not fit
    into `loose`, which counts from the first element of `x`."""
    row = outer[0].sram
    behind = sum((each.extent - 1) * each.sram for each in outer) + row
    # If padding behind the last row would leave `loose`, rows are padded in front instead.
    front = max(0, behind - loose.stop)
    low, high = x.low + front, x.high + front
    inside = -front >= loose.start and x.extent + front <= row
    fits = inside and max(low, row - high) <= LONGEST_PAD
    nested = all(b.sram >= a.sram * a.extent for a, b in pairwise(outer))
    return replace(x, extent=row, low=low, high=high) if fits and nested else x


def _joined(axes: list[Axis]) -> list[Axis]:
    """The axes, innermost first; axes that are contiguous on both sides are fused."""
    result: list[Axis] = []
    used = (each for each in axes if each.extent > 1 or each.padded)
    for axis in sorted(used, key=attrgetter("sram")):
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
    row_by_row = max(left, right) > LONGEST_PAD
    longest_pad = 0 if row_by_row else LONGEST_PAD
    if above > longest_pad:
        yield Zeros(sram, above * width)
        sram, above = sram + above * width, 0
    if row_by_row:
        for row in range(rows):
            yield from _row(sram + row * width, first + row * y.dram, columns, left, right)
    else:
        pads = above, below if below <= longest_pad else 0, left, right
        yield Rectangle(sram, first, rows, columns, y.dram, pads)
    if below > longest_pad:
        yield Zeros(sram + (above + rows) * width, below * width)


def _row(sram: int, dram: int, columns: int, left: int, right: int) -> Iterator[Rectangle | Zeros]:
    """A row as a copy of its own, between zeros that are too many for the padding fields."""
    if left:
        yield Zeros(sram, left)
    yield Rectangle(sram + left, dram, 1, columns, 0, (0, 0, 0, 0))
    if right:
        yield Zeros(sram + left + columns, right)
