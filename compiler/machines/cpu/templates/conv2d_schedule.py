"""The schedule of direct convolutions on the CPU, with packed weights."""

from __future__ import annotations

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.machines.cpu.templates.conv2d_shape import WINDOW
from tandem.compiler.machines.cpu.templates.layer import (
    PackedLayer,
    carry_in_registers,
    copy_on_threads,
    packed_layer_schedule,
)
from tandem.compiler.machines.cpu.templates.register_tiles import LEAST_ROW
from tandem.compiler.te import Tensor
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import find_block, read_by

_TRANSPOSED_LANES = 16
"""Channels that are transposed together."""
_PADDED_LANES = 16
"""Pixels of a vector of the padded image for dot products: with their channels, 64 bytes."""


def schedule_packed_conv2d(conv: PackedLayer, out: Tensor) -> Schedule:
    """The schedule of a convolution's second program, of `data`, packed weights and other inputs of
    `out`.

    Blocks of channels and rows of tiles are distributed over threads. A tile's sums are accumulated
    in registers over all terms; the following operators are computed on the tile, still with
    channels as lanes; the tile is then transposed to the output.

    Parameters
    ----------
    out
        `conv.output`, or a tensor that is computed from it elementwise.

    Raises
    ------
    ScheduleError
        `out` reduces, or reads neighbours.
    """
    schedule = conv_in_tiles(conv, out)
    inner = (*conv.terms.steps, "y", "x")
    terms = "ci", *WINDOW
    schedule = carry_in_registers(schedule, conv.sums.name, terms, inner, conv.dot)
    for packed in conv.packed:
        if packed.source is not None:
            schedule = schedule.vectorize(packed.name, "l")
    return conv_on_threads(schedule, conv, out)


def conv_in_tiles(conv: PackedLayer, out: Tensor, *others: Tensor) -> Schedule:
    """`packed_layer_schedule` of a convolution: a tile's sums are computed where `out` has them."""
    assert out.source is not None
    n, co, y, x = (each.name for each in out.source.axes)
    sums, tile = conv.sums.name, f"{out.name}_tile"
    schedule = packed_layer_schedule(conv, out, *others)
    schedule = (
        schedule.cache_write(out.name, Scope.LOCAL, tile)
        .split(out.name, co, conv.tile.channels, ("block", "l"))
        .split(out.name, y, conv.tile.rows, ("row", "ty"))
        .split(out.name, x, conv.tile.columns, ("column", "tx"))
        .reorder(out.name, n, "block", "row", "column", "l", "ty", "tx")
        .compute_at(tile, out.name, "column")
        # Whole vectors even of fewer channels than a tile has.
        .split(tile, co, conv.tile.channels, ("block", "l"))
        .compute_at(sums, out.name, "column")
    )
    if _has_whole_rows(conv, out):
        schedule = _transposed_operands(schedule, out, tile)
    return (
        schedule.reorder(tile, y, x, "l")
        .vectorize(tile, "l")
        .unroll(tile, y)
        .unroll(tile, x)
        .set_layout(tile, ("0", "2", "3", "1"))
    )


def conv_on_threads(schedule: Schedule, conv: PackedLayer, out: Tensor) -> Schedule:
    """The schedule of `conv_in_tiles` with tiles that are transposed to the output; blocks of
    channels and rows of tiles are distributed over threads."""
    assert out.source is not None
    n = out.source.axes[0].name
    schedule = _transposed_store(schedule, conv, out)
    whole = out.shape[2] // conv.tile.rows
    if 0 < whole < -(-out.shape[2] // conv.tile.rows):
        # The last tile has fewer rows: it gets code of its own, without sums that nothing reads.
        schedule = schedule.partition(out.name, "row", whole)
        schedule = schedule.fuse(out.name, n, "block", "task")
    else:
        schedule = schedule.fuse(out.name, n, "block", "blocks")
        schedule = schedule.fuse(out.name, "blocks", "row", "task")
    schedule = schedule.parallel(out.name, "task")
    return schedule if conv.padded is conv.data else _pad(schedule, conv)


def _has_whole_rows(conv: PackedLayer, out: Tensor) -> bool:
    """Whether the rows of all tiles are whole, and long enough for vectors."""
    _, outputs, _, columns = out.shape
    whole = outputs % conv.tile.channels == 0 and columns % conv.tile.columns == 0
    return whole and conv.tile.columns >= LEAST_ROW


def _transposed_operands(schedule: Schedule, out: Tensor, tile: str) -> Schedule:
    """Schedules transposed copies of the tile's other operands, such as a residual block's."""
    block = find_block(schedule.program.body, tile)
    assert block is not None
    for buffer in schedule.program.inputs:
        if buffer.shape != out.shape or buffer.name not in read_by(block):
            continue
        copy = f"{buffer.name}_in_{tile}"
        schedule = (
            schedule.cache_read(buffer.name, (tile,), Scope.LOCAL, copy)
            .compute_at(copy, out.name, "column")
            .split(copy, "d1", _TRANSPOSED_LANES, ("vector", "l"))
            .reorder(copy, "d2", "vector", "l", "d3")
            .unroll(copy, "d2")
            .unroll(copy, "vector")
            .vectorize(copy, "l")
            .unroll(copy, "d3")
            .set_layout(copy, ("0", "2", "3", "1"))
        )
    return schedule


def _transposed_store(schedule: Schedule, conv: PackedLayer, out: Tensor) -> Schedule:
    """Schedules the copy of a tile to the output, whose channels lie apart: as vectors of whole
    rows if all tiles are whole, else element by element."""
    if _has_whole_rows(conv, out):
        schedule = schedule.reorder(out.name, "ty", "tx", "l").unroll(out.name, "ty")
        return schedule.vectorize(out.name, "tx").unroll(out.name, "l")
    return schedule.unroll(out.name, "ty").unroll(out.name, "tx")


def _pad(schedule: Schedule, conv: PackedLayer) -> Schedule:
    """Schedules the padded image: vectors of a row, planes distributed over threads."""
    pad = conv.padded.name
    schedule = copy_on_threads(schedule, conv.padded, "n", "ci")
    if not conv.terms.extents:
        return schedule.vectorize(pad, "x")
    # Terms are interleaved.
    columns = conv.padded.shape[3]
    rest = columns % _PADDED_LANES
    stages = [pad]
    if rest and columns > _PADDED_LANES:
        schedule = schedule.partition(pad, "x", columns - rest)
        stages.append(f"{pad}_tail")
    for stage in stages:
        schedule = schedule.unroll(stage, "k")
        lanes = None if stage != pad or columns <= _PADDED_LANES else _PADDED_LANES
        schedule = schedule.vectorize(stage, "x", lanes)
    return schedule
