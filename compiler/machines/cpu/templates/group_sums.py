"""Layers of compressed weights on the CPU: sums of groups in registers, and the loops of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.machines.cpu.templates.layer import PackedLayer, carry_in_registers
from tandem.compiler.te import Tensor
from tandem.compiler.te.schedule import Schedule


@dataclass(frozen=True, slots=True)
class CompressedLayer(PackedLayer):
    """A layer of compressed weights. Its programs pack codes, then scales, then zero points or
    excesses.

    Attributes
    ----------
    widened, partial
        The weights in registers, and sums of groups; None of formats without scales.
    lanes
        The sums in a register.
    """

    widened: Tensor
    partial: Tensor | None
    lanes: int


def in_lanes(schedule: Schedule, stage: str, outer: Sequence[str], lanes: int) -> Schedule:
    """The schedule with vectors of a stage's columns `l` inside other loops."""
    return (
        schedule.split(stage, "l", lanes, ("vector", "lane"))
        .reorder(stage, *outer, "vector", "lane")
        .vectorize(stage, "lane")
        .unroll(stage, "vector")
    )


def scaled_sums(
    schedule: Schedule,
    sums: Tensor,
    partial: Tensor,
    groups: Sequence[str],
    pixels: Sequence[str],
    lanes: int,
) -> Schedule:
    """The schedule with sums in registers to which each group adds its own, `partial`, times its
    scale.

    Parameters
    ----------
    groups, pixels
        The axes of `sums` over groups, and those of a tile, which are unrolled.
    lanes
        The sums in a register.
    """
    schedule = schedule.set_scope(sums.name, Scope.LOCAL)
    schedule = in_lanes(schedule, sums.name, (*groups, *pixels), lanes)
    schedule = schedule.compute_at(partial.name, sums.name, groups[-1])
    for axis in pixels:
        schedule = schedule.unroll(sums.name, axis)
    return schedule.decompose_reduction(sums.name, groups[0])


def sums_of_bytes(
    schedule: Schedule,
    layer: CompressedLayer,
    groups: Sequence[str],
    steps: Sequence[str],
    parts: str,
    pixels: Sequence[str],
) -> Schedule:
    """The schedule with the sums of a layer of `byte_codes` in registers, and the weights of a
    step of its innermost loop.

    Parameters
    ----------
    groups, pixels
        As of `scaled_sums`.
    steps, parts
        The other axes of sums of products: those of loops, and the one of codes in a byte.
    """
    inner, widened = layer.sums, layer.widened.name
    if layer.partial is not None:
        inner = layer.partial
        schedule = scaled_sums(schedule, layer.sums, inner, groups, pixels, layer.lanes)
    unrolled = parts, *pixels
    schedule = carry_in_registers(schedule, inner.name, steps, unrolled, layer.dot, widened)
    return (
        schedule.set_scope(widened, Scope.LOCAL)
        .unroll(widened, "q")
        .split(widened, "l", layer.lanes, ("vector", "lane"))
        .fuse(widened, "lane", "t", "byte")
        .unroll(widened, "vector")
        .vectorize(widened, "byte")
    )
