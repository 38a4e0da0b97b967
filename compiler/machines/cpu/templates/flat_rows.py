"""Rows of images that lie one behind the other: vectors go over their ends.

Where rows are short, most of a vector of one row is empty. Vectors that hold elements of several
rows are written out one by one, so that the places of their elements are known while compiling
(`codegen.lane_patterns`): each is picked out of two registers.
"""

from __future__ import annotations

from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.te import Tensor
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import extent_of, find_loop

_MOST_VECTORS = 16
"""The most vectors of an image whose code is written out."""
_REGISTERS = 2
"""Registers that elements are picked out of."""


def flat_image_in_lanes(
    schedule: Schedule, image: Tensor, axis: str, columns: int, simd: Simd, apart: int = 1
) -> Schedule | None:
    """The schedule with vectors across the ends of the rows of a padded image; None if their
    elements are too far apart or the vectors too many.

    Parameters
    ----------
    axis
        The stage's axis along all rows.
    columns, apart
        Columns of the image without its border, and the distance of the rows.
    """
    lanes = simd.lanes(image.dtype)
    loop = find_loop(schedule.program.body, f"{image.name}.{axis}")
    assert loop is not None, "an axis of the stage"
    # Between rows that are taken lie those that are not: fewer elements lie in two registers.
    fewer = lanes >> (apart - 1).bit_length()
    if apart * columns > lanes or extent_of(loop) > _MOST_VECTORS * fewer:
        return None
    if image.dtype.bits not in simd.permuted:
        return None
    return _written_out(schedule, image.name, axis, fewer)


def flat_result_in_lanes(
    schedule: Schedule, out: Tensor, sums: Tensor, pitch: int, simd: Simd
) -> Schedule | None:
    """The schedule with vectors across the ends of the rows of a result, whose sums have rows of
    `pitch` elements; None if vectors of rows are as good, or as in `flat_image_in_lanes`."""
    assert out.source is not None
    *_, rows, columns = out.shape
    *_, y, x = (axis.name for axis in out.source.axes)
    lanes, total = simd.lanes(sums.dtype), rows * columns
    if columns % lanes == 0 or total > _MOST_VECTORS * lanes:
        return None
    if sums.dtype.bits not in simd.permuted:
        return None
    for start in range(0, total, lanes):
        first, last = (
            pixel // columns * pitch + pixel % columns
            for pixel in (start, min(start + lanes, total) - 1)
        )
        if last - first >= _REGISTERS * lanes:
            return None
    return _written_out(schedule.fuse(out.name, y, x, "yx"), out.name, "yx", lanes)


def _written_out(schedule: Schedule, stage: str, axis: str, lanes: int) -> Schedule:
    """Writes out the vectors of an axis, of which the last may be shorter."""
    loop = find_loop(schedule.program.body, f"{stage}.{axis}")
    assert loop is not None, "an axis of the stage"
    extent = extent_of(loop)
    rest = extent % lanes
    if rest and rest < extent:
        schedule = schedule.partition(stage, axis, extent - rest)
        schedule = schedule.vectorize(f"{stage}_tail", axis)
    if extent <= lanes:
        return schedule.vectorize(stage, axis)
    schedule = schedule.split(stage, axis, lanes, (f"{axis}_vector", f"{axis}_lane"))
    return schedule.unroll(stage, f"{axis}_vector").vectorize(stage, f"{axis}_lane")
