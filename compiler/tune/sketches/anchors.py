"""Multi-level tiling of reductions that read an element for several results.

The tile of the result is in registers, and all terms are added to it; a stage that follows element
by element is computed from it (Ansor, Zheng et al., OSDI 2020, section 4.1: multi-level tiling with
fusion, and cache write).
"""

from __future__ import annotations

from typing import Final

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.expr import Load, Var
from tandem.compiler.ir.stmt import Block, Store
from tandem.compiler.ir.visit import blocks
from tandem.compiler.tune.sketches.anchor_loops import (
    schedule_kept,
    schedule_out,
    schedule_sums,
    split_out,
)
from tandem.compiler.tune.sketches.anchor_operands import copy_reads, pack, pack_for
from tandem.compiler.tune.sketches.anchor_tiles import (
    Anchor,
    blocked,
    register_tile,
    vector_axes,
    vector_lengths,
)
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.loops import schedule_loops
from tandem.compiler.tune.sketches.stages import (
    block_of,
    is_intermediate,
    is_reduction,
    iterations,
    loads_of,
    readers_of,
    shape_of,
    shares_loads,
    spatial,
    widest_bits,
)
from tandem.compiler.tune.sketches.tensor_tiles import TensorTile, tensor_tiles

_NO_INTRINSIC: Final = "none"
_LEAST: Final = 64
"""The iterations of a reduction that is worth a tile."""


def anchor_of(builder: Builder, stage: str) -> Anchor | None:
    """The anchor that ends with a stage; None if there is none, or if its operands let no axis be
    one of vectors. A reduction that is worth a tile and has no such reader gets a copy as one
    (cache_write)."""
    program = builder.program
    block = block_of(program, stage)
    if _is_worth_tiles(block):
        if not vector_axes(builder, block):
            return None
        copy = f"{stage}_sums"
        builder.schedule = builder.schedule.cache_write(stage, Scope.LOCAL, copy)
        axes = spatial(block)
        return Anchor(copy, stage, tuple(zip(axes, axes, strict=True)))
    if is_reduction(block):
        return None
    for other in reversed(blocks(program.body)):
        if _follows(builder, other, block) and vector_axes(builder, other):
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


def tile_anchor(builder: Builder, anchor: Anchor) -> None:
    """Tile an anchor."""
    label = builder.labels.get(anchor.sums) or f"{builder.labels[anchor.out]}.sums"
    block = block_of(builder.program, anchor.sums)
    extents = {axis.var.name: axis.extent for axis in block.iters}
    lanes = max(1, builder.rules.register_bits // widest_bits(block))
    tensor = _tensor_tile(builder, label, anchor)
    if tensor is None:
        vector = str(builder.choose(f"{label}.lanes", vector_axes(builder, block)))
        sizes = vector_lengths(builder, block, vector)
    else:
        vector, sizes = tensor.vector, _whole_sizes(builder, block, tensor)
    tile = register_tile(
        builder, label, vector, extents, [name for name, _ in anchor.axes], sizes, lanes
    )
    turned = vector != anchor.axes[-1][0]
    tile = blocked(builder, label, tile, anchor, extents, turned)
    if tensor is None:
        pack(builder, label, block, tile)
    else:
        pack_for(builder, label, block, tensor)
    kept = ""
    if turned and not _is_copy(block_of(builder.program, anchor.out)):
        kept = f"{anchor.out}_tile"
        builder.schedule = builder.schedule.cache_write(anchor.out, Scope.LOCAL, kept)
    at = split_out(builder, label, anchor, tile, extents)
    if kept:
        builder.schedule = builder.schedule.compute_at(kept, anchor.out, at)
    builder.schedule = builder.schedule.compute_at(anchor.sums, anchor.out, at)
    copies = [] if tensor is not None else copy_reads(builder, label, anchor, block, at)
    schedule_sums(builder, label, anchor, tile, lanes, tensor)
    if kept:
        schedule_kept(builder, kept, anchor, tile)
    schedule_out(builder, anchor, tile, extents, turned)
    stages = (anchor.sums, f"{anchor.sums}_init", *([kept] if kept else []), anchor.out, *copies)
    builder.owners.update(dict.fromkeys(stages, anchor.out))
    for copy in copies:
        schedule_loops(builder, copy)


def _tensor_tile(builder: Builder, label: str, anchor: Anchor) -> TensorTile | None:
    """The intrinsic that computes tiles; None if there is none, or none is decided."""
    block = block_of(builder.program, anchor.sums)
    found = {
        name: tile
        for name, tile in tensor_tiles(builder, anchor.sums).items()
        if _whole_sizes(builder, block, tile)
    }
    return found.get(str(builder.choose(f"{label}.tensor", (_NO_INTRINSIC, *found))))


def _whole_sizes(builder: Builder, block: Block, tile: TensorTile) -> tuple[int, ...]:
    """The sizes along the axis of results that are whole tiles, in all of the axis."""
    extent = next(axis.extent for axis in block.iters if axis.var.name == tile.vector)
    sizes = vector_lengths(builder, block, tile.vector)
    return tuple(size for size in sizes if size % tile.lanes == 0 and extent % size == 0)


def _is_copy(block: Block) -> bool:
    """Whether a stage stores what it loads."""
    return isinstance(block.body, Store) and isinstance(block.body.value, Load)
