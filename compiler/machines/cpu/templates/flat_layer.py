"""Templates of depthwise convolutions of flat images: there is nothing to choose."""

from __future__ import annotations

from typing import Any

import numpy as np

from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.machines.cpu.templates.layer import LayerOnCpu, LayerWorkload, layer_patterns
from tandem.compiler.plan.space import Bools, Choices, Floats, Space
from tandem.compiler.te.knobs import Choice


class FlatLayerOnCpu(LayerOnCpu):
    """A depthwise convolution whose rows lie one behind the other. There is one choice."""

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
