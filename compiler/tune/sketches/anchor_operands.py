"""Operands of anchors, in the order in which tiles read them."""

from __future__ import annotations

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.stmt import Block
from tandem.compiler.te.knobs import Setting
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import read_by
from tandem.compiler.tune.sketches.anchor_tiles import Anchor, AnchorTile
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.stages import block_of, is_plain, loads_of, operand_strides
from tandem.compiler.tune.sketches.tensor_tiles import TensorTile


def pack(builder: Builder, label: str, block: Block, tile: AnchorTile) -> None:
    """Copy operands in the order in which tiles read them: those that are not read as vectors, and
    constants where that is decided."""
    strides = operand_strides(block, tile.vector)
    for buffer in sorted(strides, key=lambda name: builder.labels.get(name, name)):
        needed = not strides[buffer] <= {0, 1}
        constant = buffer in builder.constants
        if not is_plain(block, buffer) or not (needed or constant):
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


def pack_for(builder: Builder, label: str, block: Block, tile: TensorTile) -> None:
    """Copy operands into the layouts in which an intrinsic reads them."""
    for buffer in sorted(
        operand_strides(block, tile.vector), key=lambda name: builder.labels.get(name, name)
    ):
        order = tile.packing(block, buffer)
        if order is None:
            continue
        copy = f"{buffer}_packed"
        builder.labels[copy] = f"{label}.{builder.labels.get(buffer, buffer)}.packed"
        cached = builder.schedule.cache_read(buffer, (block.name,), Scope.GLOBAL, copy)
        builder.schedule = cached.set_layout(copy, order)
        if buffer in builder.constants:
            builder.owners[copy] = copy


def _packed_order(block: Block, buffer: str, tile: AnchorTile) -> tuple[str, ...]:
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


def copy_reads(builder: Builder, label: str, anchor: Anchor, block: Block, at: str) -> list[str]:
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
