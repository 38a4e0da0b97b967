"""The loops of anchors: over tiles, over terms, and inside a tile."""

from __future__ import annotations

from typing import Final

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.tune.sketches.anchor_tiles import Anchor, AnchorTile
from tandem.compiler.tune.sketches.builder import Builder
from tandem.compiler.tune.sketches.stages import block_of, reduced
from tandem.compiler.tune.sketches.tensor_tiles import TensorTile
from tandem.compiler.tune.sketches.terms import write_out_terms

_LEAST_ROW: Final = 4
"""The fewest elements of a row that is stored as a vector."""
_PARTS: Final = (8, 16, 32, 64, 128, 256)


def split_out(
    builder: Builder, label: str, anchor: Anchor, tile: AnchorTile, extents: dict[str, int]
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


def schedule_sums(
    builder: Builder,
    label: str,
    anchor: Anchor,
    tile: AnchorTile,
    lanes: int,
    tensor: TensorTile | None,
) -> None:
    """Add all terms to a register tile, which is written out: vectors of it, or what an intrinsic
    computes."""
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
    if tensor is not None:
        schedule = tensor.split(schedule, sums, inner[-1])
        extents[tensor.term] //= tensor.depth
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
    deep: tuple[str, ...] = () if tensor is None else tensor.axes
    schedule = builder.schedule.reorder(sums, *first, *around, *terms, *inner, *deep)
    for axis in (*written, *(inner[:-1] if tensor is None else inner)):
        schedule = schedule.unroll(sums, axis)
    if tensor is None:
        schedule = schedule.vectorize(sums, inner[-1])
    schedule = schedule.decompose_reduction(sums, (*first, *terms)[0])
    schedule = schedule.set_scope(sums, Scope.LOCAL)
    order = [str(at) for at, axis in enumerate(axes) if axis != tile.vector]
    layout = (*order, str(axes.index(tile.vector)))
    if layout != tuple(sorted(layout, key=int)):
        schedule = schedule.set_layout(sums, layout)
    if tensor is not None:
        schedule = schedule.tensorize(sums, deep[0], tensor.intrinsic)
        schedule = schedule.vectorize(f"{sums}_init", deep[0])
    builder.schedule = schedule


def schedule_kept(builder: Builder, kept: str, anchor: Anchor, tile: AnchorTile) -> None:
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


def schedule_out(
    builder: Builder, anchor: Anchor, tile: AnchorTile, extents: dict[str, int], turned: bool
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
