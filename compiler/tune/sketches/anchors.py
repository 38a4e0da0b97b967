"""Multi-level tiling of reductions that read an element for several results.

The tile of the result is in registers, and all terms are added to it; a stage that follows element
by element is computed from it (Ansor, Zheng et al., OSDI 2020, section 4.1: multi-level tiling with
fusion, and cache write).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.expr import Load, Var
from tandem.compiler.ir.stmt import Block, Store
from tandem.compiler.ir.visit import blocks
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import read_by
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.loops import schedule_loops
from tandem.compiler.tune.sketches.stages import (
    affine_length,
    block_of,
    is_intermediate,
    is_reduction,
    iterations,
    loads_of,
    operand_strides,
    readers_of,
    reduced,
    shape_of,
    shares_loads,
    spatial,
    widest_bits,
)
from tandem.compiler.tune.sketches.terms import write_out_terms
from tandem.compiler.tune.sketches.tiles import divisions, vector_sizes

_LEAST: Final = 64
"""The iterations of a reduction that is worth a tile."""
_TILE_ELEMENTS: Final = 1 << 13
"""The most elements of a tile of several register tiles."""
_LEAST_ROW: Final = 4
"""The fewest elements of a row that is stored as a vector."""
_BLOCKS: Final = (2, 4, 8, 16)
_PARTS: Final = (8, 16, 32, 64, 128, 256)


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


def anchor_of(builder: Builder, stage: str) -> Anchor | None:
    """The anchor that ends with a stage; None if there is none, or if its operands let no axis be
    one of vectors. A reduction that is worth a tile and has no such reader gets a copy as one
    (cache_write)."""
    program = builder.program
    block = block_of(program, stage)
    if _is_worth_tiles(block):
        if not _vector_axes(builder, block):
            return None
        copy = f"{stage}_sums"
        builder.schedule = builder.schedule.cache_write(stage, Scope.LOCAL, copy)
        axes = spatial(block)
        return Anchor(copy, stage, tuple(zip(axes, axes, strict=True)))
    if is_reduction(block):
        return None
    for other in reversed(blocks(program.body)):
        if _follows(builder, other, block) and _vector_axes(builder, other):
            return Anchor(
                other.name, stage, tuple(zip(spatial(other), spatial(block), strict=True))
            )
    return None


def _is_worth_tiles(block: Block) -> bool:
    return is_reduction(block) and iterations(block) >= _LEAST and shares_loads(block)


def _follows(builder: Builder, sums: Block, out: Block) -> bool:
    """Whether a stage reads a reduction at its own axes, and nobody else reads it."""
    program = builder.program
    if not _is_worth_tiles(sums) or not is_intermediate(program, sums.name):
        return False
    if [each.name for each in readers_of(program, sums.name)] != [out.name]:
        return False
    own = tuple(map(Var, spatial(out)))
    same = all(load.indices == own for load in loads_of(out, sums.name))
    return same and shape_of(sums) == shape_of(out)


@dataclass(frozen=True, slots=True)
class _Tile:
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


def tile_anchor(builder: Builder, anchor: Anchor) -> None:
    """Tile an anchor."""
    label = builder.labels.get(anchor.sums) or f"{builder.labels[anchor.out]}.sums"
    block = block_of(builder.program, anchor.sums)
    vector = str(builder.choose(f"{label}.lanes", _vector_axes(builder, block)))
    extents = {axis.var.name: axis.extent for axis in block.iters}
    lanes = max(1, builder.rules.register_bits // widest_bits(block))
    sizes = _vector_sizes(builder, block, vector)
    tile = _tile(builder, label, vector, extents, [name for name, _ in anchor.axes], sizes, lanes)
    turned = vector != anchor.axes[-1][0]
    tile = _blocked(builder, label, tile, anchor, extents, turned)
    _pack(builder, label, block, tile)
    kept = ""
    if turned and not _is_copy(block_of(builder.program, anchor.out)):
        kept = f"{anchor.out}_tile"
        builder.schedule = builder.schedule.cache_write(anchor.out, Scope.LOCAL, kept)
    at = _split_out(builder, label, anchor, tile, extents)
    copies = _read_copies(builder, label, anchor, block, at)
    if kept:
        builder.schedule = builder.schedule.compute_at(kept, anchor.out, at)
    builder.schedule = builder.schedule.compute_at(anchor.sums, anchor.out, at)
    _schedule_sums(builder, label, anchor, tile, lanes)
    if kept:
        _schedule_kept(builder, kept, anchor, tile, extents)
    _schedule_out(builder, anchor, tile, extents, turned)
    for stage in (anchor.sums, f"{anchor.sums}_init", kept, anchor.out, *copies):
        builder.owners[stage] = anchor.out
    for copy in copies:
        schedule_loops(builder, copy)


def _is_copy(block: Block) -> bool:
    """Whether a stage stores what it loads."""
    return isinstance(block.body, Store) and isinstance(block.body.value, Load)


def _is_plain(block: Block, buffer: str) -> bool:
    """Whether a block reads a buffer in one way only, with an axis as each index."""
    found = {load.indices for load in loads_of(block, buffer)}
    return len(found) == 1 and all(isinstance(index, Var) for index in next(iter(found)))


def _vector_axes(builder: Builder, block: Block) -> list[Setting]:
    """The axes along which all operands are read as vectors, or can be packed so: those with the
    fewest operands to copy at run time."""
    costs: dict[str, int] = {}
    for axis in block.iters:
        name = axis.var.name
        if name not in spatial(block) or axis.extent < 2:
            continue
        if not _vector_sizes(builder, block, name):
            continue
        copied = 0
        for buffer, found in operand_strides(block, name).items():
            if found <= {0, 1}:
                continue
            if not _is_plain(block, buffer):
                break
            copied += buffer not in builder.constants
        else:
            costs[name] = copied
    least = min(costs.values(), default=0)
    return [name for name, cost in costs.items() if cost == least]


def _vector_sizes(builder: Builder, block: Block, axis: str) -> tuple[int, ...]:
    """The sizes of vectors along an axis, each within iterations whose indices are affine."""
    extent = dict(zip(spatial(block), shape_of(block), strict=True))[axis]
    within = affine_length(block, axis)
    lanes = max(1, builder.rules.register_bits // widest_bits(block))
    sizes = vector_sizes(within, lanes, builder.rules.registers // 4)
    return tuple(size for size in sizes if within == extent or within % size == 0)


def _tile(
    builder: Builder,
    label: str,
    vector: str,
    extents: dict[str, int],
    axes: list[str],
    sizes: tuple[int, ...],
    lanes: int,
) -> _Tile:
    found = {vector: builder.number(f"{label}.tile.{axes.index(vector)}", sizes)}
    count = -(-found[vector] // lanes)
    budget = max(1, (builder.rules.registers - 1 - count) // count)
    for axis in reversed(axes):
        if axis != vector:
            options = divisions(extents[axis], budget)
            found[axis] = builder.number(f"{label}.tile.{axes.index(axis)}", options)
            budget //= found[axis]
    return _Tile(vector, {axis: found[axis] for axis in axes})


def _blocked(
    builder: Builder,
    label: str,
    tile: _Tile,
    anchor: Anchor,
    extents: dict[str, int],
    turned: bool,
) -> _Tile:
    """The tile of several register tiles, along one axis; or as it is."""
    size = prod(tile.registers.values())
    names = [name for name, _ in anchor.axes]
    fixed = {tile.vector, names[-1]} if turned else set[str]()
    options: list[Setting] = ["none"]
    for at, axis in enumerate(names):
        if axis in fixed or tile.registers[axis] >= extents[axis]:
            continue
        for count in _BLOCKS:
            whole = (count - 1) * tile.registers[axis] < extents[axis]
            if whole and count * size <= _TILE_ELEMENTS:
                options.append(f"{at}x{count}")
    chosen = str(builder.choose(f"{label}.block", options))
    if chosen == "none":
        return tile
    number, _, times = chosen.partition("x")
    return _Tile(tile.vector, tile.registers, names[int(number)], int(times))


def _pack(builder: Builder, label: str, block: Block, tile: _Tile) -> None:
    """Copy operands in the order in which tiles read them: those that are not read as vectors, and
    constants where that is decided."""
    strides = operand_strides(block, tile.vector)
    for buffer in sorted(strides, key=lambda name: builder.labels.get(name, name)):
        needed = not strides[buffer] <= {0, 1}
        constant = buffer in builder.constants
        if not _is_plain(block, buffer) or not (needed or constant):
            continue
        options = (1,) if needed else (0, 1)
        if builder.choose(f"{label}.pack.{builder.labels.get(buffer, buffer)}", options):
            copy = f"{buffer}_packed"
            builder.labels[copy] = f"{label}.{builder.labels.get(buffer, buffer)}.packed"
            order = _packed_order(block, buffer, tile)
            builder.schedule = builder.schedule.cache_read(
                buffer, (block.name,), Scope.GLOBAL, copy
            ).set_layout(copy, order)
            if constant:
                builder.owners[copy] = copy


def _packed_order(block: Block, buffer: str, tile: _Tile) -> tuple[str, ...]:
    """The layout of a copy: tiles of vectors outermost, then terms, then a vector's lanes."""
    (indices,) = {load.indices for load in loads_of(block, buffer)}
    names = [index.name for index in indices if isinstance(index, Var)]
    size = tile.registers[tile.vector]
    outer = [str(at) for at, name in enumerate(names) if name in tile.registers]
    terms = [str(at) for at, name in enumerate(names) if name not in tile.registers]
    if tile.vector not in names:
        return (*outer, *terms)
    at = names.index(tile.vector)
    outer.remove(str(at))
    return (*outer, f"{at}/{size}", *terms, f"{at}%{size}")


def _split_out(
    builder: Builder, label: str, anchor: Anchor, tile: _Tile, extents: dict[str, int]
) -> str:
    """Split the loops of `out` into those over tiles and those inside; the innermost axis of the
    first."""
    schedule = builder.schedule
    for axis, name in anchor.axes:
        size = tile.size(axis, extents[axis])
        schedule = schedule.split(anchor.out, name, size, (name, f"{name}_t"))
    outer = [name for _, name in anchor.axes]
    long = [
        at
        for at, (axis, _) in enumerate(anchor.axes)
        if tile.size(axis, extents[axis]) < extents[axis]
    ]
    if long:
        last = outer[builder.number(f"{label}.innermost", long)]
        outer = [name for name in outer if name != last] + [last]
    inner = [f"{name}_t" for _, name in anchor.axes]
    builder.schedule = schedule.reorder(anchor.out, *outer, *inner)
    builder.outer[anchor.out] = tuple(outer)
    return outer[-1]


def _read_copies(builder: Builder, label: str, anchor: Anchor, block: Block, at: str) -> list[str]:
    """Copy what a tile reads of an operand into a buffer of its own, where that is decided; the
    stages that copy."""
    copies = []
    for buffer in sorted(read_by(block)):
        known = builder.labels.get(buffer)
        present = buffer in read_by(block_of(builder.program, anchor.sums))
        if known is None or buffer in builder.constants or buffer == block.name or not present:
            continue
        copy = f"{buffer}_read"
        builder.labels[copy] = f"{label}.{known}.copy"

        def changed(value: Setting, buffer: str = buffer, copy: str = copy) -> Schedule:
            if not value:
                return builder.schedule
            cached = builder.schedule.cache_read(buffer, (anchor.sums,), Scope.LOCAL, copy)
            return cached.compute_at(copy, anchor.out, at)

        if builder.attempt(f"{label}.read.{known}", (0, 1), changed):
            copies.append(copy)
    return copies


def _schedule_sums(builder: Builder, label: str, anchor: Anchor, tile: _Tile, lanes: int) -> None:
    sums, schedule = anchor.sums, builder.schedule
    terms = list(reduced(block_of(builder.program, sums)))
    inner: list[str] = []
    around: list[str] = []
    axes = [axis for axis, _ in anchor.axes]
    for axis in (*(each for each in axes if each != tile.vector), tile.vector):
        if axis == tile.blocked:
            schedule = schedule.split(sums, axis, tile.registers[axis], (axis, f"{axis}_u"))
            around.append(axis)
            inner.append(f"{axis}_u")
        else:
            inner.append(axis)
    first: list[str] = []
    extents = {axis.var.name: axis.extent for axis in block_of(builder.program, sums).iters}
    if around:
        parts = tuple(size for size in _PARTS if size < extents[terms[0]])
        size = builder.number(f"{label}.part", (0, *parts))
        if size:
            schedule = schedule.split(sums, terms[0], size, (f"{terms[0]}_p", terms[0]))
            first.append(f"{terms[0]}_p")
            extents[terms[0]] = size
    statements = tile.statements(lanes)
    builder.schedule = schedule
    terms, written = write_out_terms(builder, label, sums, terms, extents, statements)
    schedule = builder.schedule.reorder(sums, *first, *around, *terms, *inner)
    for axis in (*written, *inner[:-1]):
        schedule = schedule.unroll(sums, axis)
    schedule = schedule.vectorize(sums, inner[-1])
    schedule = schedule.decompose_reduction(sums, (*first, *terms)[0])
    schedule = schedule.set_scope(sums, Scope.LOCAL)
    order = [str(at) for at, axis in enumerate(axes) if axis != tile.vector]
    layout = (*order, str(axes.index(tile.vector)))
    if layout != tuple(sorted(layout, key=int)):
        schedule = schedule.set_layout(sums, layout)
    builder.schedule = schedule


def _schedule_kept(
    builder: Builder, kept: str, anchor: Anchor, tile: _Tile, extents: dict[str, int]
) -> None:
    """Compute a tile of results from the sums, still with the axis of vectors innermost."""
    vector = dict(anchor.axes)[tile.vector]
    others = [name for axis, name in anchor.axes if axis != tile.vector]
    schedule = builder.schedule.reorder(kept, *others, vector).vectorize(kept, vector)
    for axis, name in anchor.axes:
        if axis not in (tile.vector, tile.blocked):
            schedule = schedule.unroll(kept, name)
    names = [name for _, name in anchor.axes]
    order = [str(at) for at, name in enumerate(names) if name != vector]
    builder.schedule = schedule.set_layout(kept, (*order, str(names.index(vector))))


def _schedule_out(
    builder: Builder, anchor: Anchor, tile: _Tile, extents: dict[str, int], turned: bool
) -> None:
    """Store a tile: vectors along the axis of vectors, or rows of it transposed."""
    out, schedule = anchor.out, builder.schedule
    vector = f"{dict(anchor.axes)[tile.vector]}_t"
    last_axis, last = anchor.axes[-1]
    fixed = {axis for axis, _ in anchor.axes if axis == tile.blocked}
    others = [
        (axis, f"{name}_t") for axis, name in anchor.axes if axis not in (tile.vector, last_axis)
    ]
    row = tile.size(last_axis, extents[last_axis])
    if not turned:
        names = [name for _, name in others]
        schedule = schedule.vectorize(out, vector)
        unrolled = names
    elif (
        row >= _LEAST_ROW
        and extents[last_axis] % row == 0
        and extents[tile.vector] % tile.size(tile.vector, extents[tile.vector]) == 0
    ):
        schedule = schedule.reorder(out, *[name for _, name in others], f"{last}_t", vector)
        schedule = schedule.vectorize(out, f"{last}_t")
        unrolled = [*(name for _, name in others), vector]
    else:
        schedule = schedule.reorder(out, vector, *[name for _, name in others], f"{last}_t")
        unrolled = [*(name for _, name in others), f"{last}_t"]
    blocked = {f"{dict(anchor.axes)[axis]}_t" for axis in fixed}
    for name in unrolled:
        if name not in blocked:
            schedule = schedule.unroll(out, name)
    builder.schedule = schedule
