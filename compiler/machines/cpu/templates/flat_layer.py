"""Depthwise convolutions of flat images (`flat_rows.py`): their loops and their template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.schedules.lanes import divisor
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.flat_rows import (
    flat_image_in_lanes,
    flat_result_in_lanes,
)
from tandem.compiler.machines.cpu.templates.layer import (
    LayerOnCpu,
    LayerWorkload,
    PackedLayer,
    layer_patterns,
    packed_layer_schedule,
)
from tandem.compiler.plan.space import Bools, Choices, Floats, Space
from tandem.compiler.te import Tensor
from tandem.compiler.te.knobs import Choice
from tandem.compiler.te.schedule import Schedule


def flat_in_tiles(
    layer: PackedLayer, out: Tensor, channels: int, lanes: int, inner: Sequence[str] = ()
) -> Schedule:
    """`packed_layer_schedule` of a flat layer: at most `channels` channels are copied and summed
    where `out` has them, with tiles of sums in vectors of `lanes`, and `inner` axes inside them."""
    assert out.source is not None
    c, sums = out.source.axes[1].name, layer.sums.name
    return (
        packed_layer_schedule(layer, out)
        .split(out.name, c, divisor(out.shape[1], channels), ("block", "c"))
        .compute_at(sums, out.name, "block")
        .compute_at(layer.padded.name, out.name, "block")
        .split(sums, "p", layer.tile.columns, ("p", "q"))
        .split(sums, "q", lanes, ("vector", "lane"))
        .reorder(sums, "p", "ky", "kx", "vector", "lane", *inner)
        .unroll(sums, "vector")
    )


def flat_on_threads(
    schedule: Schedule,
    layer: PackedLayer,
    out: Tensor,
    width: int,
    pitch: int,
    simd: Simd,
    apart: int = 1,
) -> Schedule:
    """The schedule of `flat_in_tiles` with images and results in lanes; threads share blocks of
    channels.

    Parameters
    ----------
    width, pitch
        Elements of a row of the image, and sums of a row of the result.
    apart
        The distance of the image's rows.
    """
    assert out.source is not None
    n, _, _, x = (axis.name for axis in out.source.axes)
    image, columns = layer.padded, layer.data.shape[3]
    in_lanes = flat_image_in_lanes(schedule, image, "q", columns, simd, apart)
    if in_lanes is None:
        in_lanes = schedule.split(image.name, "q", width, ("y", "x")).vectorize(image.name, "x")
    stored = flat_result_in_lanes(in_lanes, out, layer.sums, pitch, simd)
    if stored is None:
        stored = in_lanes.vectorize(out.name, x)
    return stored.fuse(out.name, n, "block", "task").parallel(out.name, "task")


class FlatLayerOnCpu(LayerOnCpu):
    """A depthwise convolution of flat images, of which there is one choice."""

    patterns = layer_patterns("conv2d", rank=4)

    def tiled_extents(self, workload: LayerWorkload) -> tuple[int, int, int]:
        _, channels, rows, columns = workload.result.static_shape("out")
        return channels, rows, columns

    def space(self, workload: LayerWorkload, machine: CpuTarget) -> Space:
        return Space({"lanes": (Simd.of(machine).lanes(workload.result.dtype),)})

    def fits(self, workload: LayerWorkload, choices: Choices, machine: CpuTarget) -> Bools:
        return np.ones(len(choices), bool)

    def estimate(self, workload: LayerWorkload, choices: Choices, machine: CpuTarget) -> Floats:
        """The same for all choices: there is one."""
        return np.zeros(len(choices))

    def options(self, choice: Choice) -> dict[str, Any]:
        return {}
