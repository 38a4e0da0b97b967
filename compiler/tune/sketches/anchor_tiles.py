"""Tiles of anchors: the axis of vectors, and what fits the registers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from tandem.compiler.ir.stmt import Block
from tandem.compiler.te.knobs import Setting
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.stages import (
    affine_length,
    is_plain,
    operand_strides,
    shape_of,
    spatial,
    widest_bits,
)
from tandem.compiler.tune.sketches.tiles import divisions, vector_sizes

_TILE_ELEMENTS: Final = 1 << 13
"""The most elements of a tile of several register tiles."""
_BLOCKS: Final = (2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Anchor:
    """A reduction and the stage that is computed from it element by element.

    Attributes
    ----------
    axes
        The axes of the reduction's results, and those of `out`, which are the same.
    """

    sums: str
    out: str
    axes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AnchorTile:
    """The tile of an anchor, by the reduction's axes.

    Attributes
    ----------
    vector
        The axis of vectors.
    registers
        The elements of a register tile along each axis.
    blocked, count
        The axis along which a tile has several register tiles, and how many; "" and 1 for none.
    """

    vector: str
    registers: dict[str, int]
    blocked: str = ""
    count: int = 1

    def size(self, axis: str, extent: int) -> int:
        """The elements of a tile along an axis."""
        times = self.count if axis == self.blocked else 1
        return min(self.registers[axis] * times, extent)

    def statements(self, lanes: int) -> int:
        """The statements of a register tile that is written out."""
        vectors = -(-self.registers[self.vector] // lanes)
        return vectors * prod(n for axis, n in self.registers.items() if axis != self.vector)


def vector_axes(builder: Builder, block: Block) -> list[Setting]:
    """The axes along which all operands are read as vectors, or can be packed so: those with the
    fewest operands to copy at run time."""
    costs: dict[str, int] = {}
    for axis in block.iters:
        name = axis.var.name
        if name not in spatial(block) or axis.extent < 2:
            continue
        if not vector_lengths(builder, block, name):
            continue
        copied = 0
        for buffer, found in operand_strides(block, name).items():
            if found <= {0, 1}:
                continue
            if not is_plain(block, buffer):
                break
            copied += buffer not in builder.constants
        else:
            costs[name] = copied
    least = min(costs.values(), default=0)
    return [name for name, cost in costs.items() if cost == least]


def vector_lengths(builder: Builder, block: Block, axis: str) -> tuple[int, ...]:
    """The sizes of vectors along an axis, each within iterations whose indices are affine."""
    extent = dict(zip(spatial(block), shape_of(block), strict=True))[axis]
    within = affine_length(block, axis)
    lanes = max(1, builder.rules.register_bits // widest_bits(block))
    sizes = vector_sizes(within, lanes, builder.rules.registers // 4)
    return tuple(size for size in sizes if within == extent or within % size == 0)


def register_tile(
    builder: Builder,
    label: str,
    vector: str,
    extents: dict[str, int],
    axes: list[str],
    sizes: tuple[int, ...],
    lanes: int,
) -> AnchorTile:
    """The tile that fits the registers, beside a vector of each operand."""
    found = {vector: builder.number(f"{label}.tile.{axes.index(vector)}", sizes)}
    count = -(-found[vector] // lanes)
    budget = max(1, (builder.rules.registers - 1 - count) // count)
    for axis in reversed(axes):
        if axis != vector:
            options = divisions(extents[axis], budget)
            found[axis] = builder.number(f"{label}.tile.{axes.index(axis)}", options)
            budget //= found[axis]
    return AnchorTile(vector, {axis: found[axis] for axis in axes})


def blocked(
    builder: Builder,
    label: str,
    tile: AnchorTile,
    anchor: Anchor,
    extents: dict[str, int],
    turned: bool,
) -> AnchorTile:
    """The tile of several register tiles, along one axis; or as it is."""
    size = prod(tile.registers.values())
    names = [name for name, _ in anchor.axes]
    fixed = {tile.vector, names[-1]} if turned else set[str]()
    counts: dict[Setting, tuple[int, ...]] = {}
    for at, axis in enumerate(names):
        if axis in fixed or tile.registers[axis] >= extents[axis]:
            continue
        fitting = tuple(
            count
            for count in _BLOCKS
            if (count - 1) * tile.registers[axis] < extents[axis] and count * size <= _TILE_ELEMENTS
        )
        if fitting:
            counts[at] = fitting
    # Which axis and how many are two decisions, so that a single tile is as likely as an axis.
    chosen = builder.choose(f"{label}.block", ("none", *counts))
    if chosen == "none":
        return tile
    count = builder.number(f"{label}.blocks", counts[chosen])
    return AnchorTile(tile.vector, tile.registers, names[int(chosen)], count)
