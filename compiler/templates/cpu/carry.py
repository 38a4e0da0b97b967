"""Sums of a tile, carried in registers through all terms."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.buffer import Scope
from compiler.ir.stmt import Function
from compiler.te.schedule import Schedule

__all__ = ["carry_sums"]


def carry_sums(
    schedule: Schedule,
    sums: str,
    terms: Sequence[str],
    pixels: Sequence[str],
    dot: Function | None,
) -> Schedule:
    """Loops over terms around a tile written out: for each of its pixels, its channels in vectors.

    Parameters
    ----------
    sums
        The stage, computed already where a tile is needed. Its axis `l` are the tile's channels.
    terms, pixels
        Its axes: over terms, without the `k` of a dot product; and over the tile's pixels.
    dot
        The dot product that does it, if one does.
    """
    schedule = schedule.set_scope(sums, Scope.LOCAL)
    if dot is None:
        schedule = schedule.reorder(sums, *terms, *pixels, "l").vectorize(sums, "l")
    else:
        schedule = schedule.split(sums, "l", dot.outputs[0].size, ("vector", "lane"))
        schedule = schedule.reorder(sums, *terms, *pixels, "vector", "lane", "k")
        schedule = schedule.unroll(sums, "vector")
    for axis in pixels:
        schedule = schedule.unroll(sums, axis)
    schedule = schedule.decompose_reduction(sums, terms[0])
    if dot is None:
        return schedule
    return schedule.vectorize(f"{sums}_init", "lane").tensorize(sums, "lane", dot)
