"""Dense layers on the CPU."""

from __future__ import annotations

from compiler.operators.cpu.carry import carry_sums, inline_all_but
from compiler.operators.cpu.packed_dense import PackedDense
from compiler.te import Tensor
from compiler.te.schedule import Schedule

__all__ = ["schedule_packed_dense"]


def schedule_packed_dense(layer: PackedDense, output: Tensor | None = None) -> Schedule:
    """A dense layer's second program: inputs `data` and packed weights, then what `output` reads.

    Blocks of outputs are spread over threads. A tile's sums are carried in registers through all
    terms; what follows them is computed on these registers and written out.

    Parameters
    ----------
    output
        What is computed element by element from `layer.output`; by default that itself.

    Raises
    ------
    ScheduleError
        `output` joins terms, or reads neighbours.
    """
    out = layer.output if output is None else output
    assert out.source is not None
    i, j = (each.name for each in out.source.axes)
    sums = layer.sums.name
    schedule = inline_all_but(
        Schedule.of(out, inputs=[layer.data, layer.packed]), (layer.padded, layer.sums), out
    )
    schedule = (
        schedule.split(out.name, j, layer.tile.channels, ("block", "l"))
        .split(out.name, i, layer.tile.columns, ("row", "i"))
        .reorder(out.name, "block", "row", "i", "l")
        .compute_at(sums, out.name, "row")
        .unroll(out.name, "i")
        .vectorize(out.name, "l")
    )
    schedule = carry_sums(schedule, sums, ("kb",), ("i",), layer.dot)
    schedule = schedule.parallel(out.name, "block")
    if layer.padded is layer.data:
        return schedule
    return schedule.vectorize(layer.padded.name, "k").parallel(layer.padded.name, "i")
