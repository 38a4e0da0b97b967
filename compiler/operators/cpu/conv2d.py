"""Convolution on the CPU."""

from __future__ import annotations

from compiler.ir.buffer import Scope
from compiler.operators.cpu.carry import carry_sums, inline_all_but
from compiler.operators.cpu.packed_conv2d import PackedConv2d
from compiler.te import Tensor
from compiler.te.schedule import Schedule

__all__ = ["schedule_packed_conv2d"]


def schedule_packed_conv2d(conv: PackedConv2d, output: Tensor | None = None) -> Schedule:
    """A convolution's second program: inputs `data` and packed weights, then what `output` reads.

    Blocks of channels and rows of tiles are spread over threads. A tile's sums are carried in
    registers through all terms; what follows them is computed on the tile, still with channels as
    lanes; the tile is then written out, which turns it around.

    Parameters
    ----------
    output
        What is computed element by element from `conv.output`; by default that itself.

    Raises
    ------
    ScheduleError
        `output` joins terms, or reads neighbours.
    """
    out = conv.output if output is None else output
    assert out.source is not None
    n, co, y, x = (each.name for each in out.source.axes)
    sums, tile = conv.sums.name, f"{out.name}_tile"
    schedule = inline_all_but(
        Schedule.of(out, inputs=[conv.data, conv.packed]), (conv.padded, conv.sums), out
    )
    schedule = (
        schedule.cache_write(out.name, Scope.LOCAL, tile)
        .split(out.name, co, conv.tile.channels, ("block", "l"))
        .split(out.name, y, conv.tile.rows, ("row", "ty"))
        .split(out.name, x, conv.tile.columns, ("column", "tx"))
        .reorder(out.name, n, "block", "row", "column", "l", "ty", "tx")
        .compute_at(tile, out.name, "column")
        # Whole vectors even of channels fewer than a tile's.
        .split(tile, co, conv.tile.channels, ("block", "l"))
        .compute_at(sums, out.name, "column")
    )
    schedule = (
        schedule.reorder(tile, y, x, "l")
        .vectorize(tile, "l")
        .unroll(tile, y)
        .unroll(tile, x)
        .set_layout(tile, ("0", "2", "3", "1"))
    )
    schedule = carry_sums(schedule, sums, ("ci", "ky", "kx"), ("y", "x"), conv.dot)
    schedule = (
        schedule.unroll(out.name, "ty")
        .unroll(out.name, "tx")
        .fuse(out.name, n, "block", "blocks")
        .fuse(out.name, "blocks", "row", "task")
        .parallel(out.name, "task")
    )
    return schedule if conv.padded is conv.data else _pad(schedule, conv)


def _pad(schedule: Schedule, conv: PackedConv2d) -> Schedule:
    """The image's border: rows at a time, planes spread over threads."""
    pad = conv.padded.name
    schedule = schedule.fuse(pad, "n", "ci", "plane").parallel(pad, "plane")
    return schedule.vectorize(pad, "x") if conv.dot is None else schedule.unroll(pad, "k")
