"""Convolutions compiled to instruction streams, with latency hiding and without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tandem.compiler.machines.accelerator.lower.dram_layout import Operator
from tandem.compiler.machines.accelerator.lower.stream import Stream, compile_stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.machines.accelerator.templates.packing import (
    pack_data,
    pack_weight,
    packed_data_shape,
    packed_weight_shape,
    unpack_data,
)
from tandem.compiler.machines.accelerator.templates.requantise_passes import epilogue_passes
from tandem.compiler.plan.planner import best_choice
from tandem.compiler.plan.target import Target
from tandem.compiler.te.knobs import Choice
from tandem.hw.config import HardwareConfig
from tandem.workbench.utilization.case import Case

HIDING = 2
"""Virtual threads for latency hiding: one computes while data of the other is loaded."""

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class CompiledConvolution:
    """A compiled convolution: the stream, and the argument values."""

    stream: Stream
    values: dict[str, Array]
    shape: tuple[int, int, int, int]
    output: str

    def image(self) -> npt.NDArray[np.uint8]:
        """Memory before the run."""
        return self.stream.image(self.values)

    def result(self, memory: npt.NDArray[np.uint8]) -> Array:
        """The output, [1, OC, OH, OW], from memory after the run."""
        return unpack_data(self.stream.read(memory, self.output), self.shape)


@dataclass(frozen=True, slots=True)
class Convolution:
    """A case on a configuration, with the best schedule choice for latency hiding.

    Attributes
    ----------
    values, immediates
        The program's arguments: tensors, and immediates of instructions, by name.
    """

    template: ClassVar[Conv2dOnArray] = Conv2dOnArray()

    case: Case
    target: Target[AcceleratorTarget]
    workload: Conv2dWorkload
    values: Mapping[str, Array]
    immediates: Mapping[str, int]
    choice: Choice

    @staticmethod
    def of(case: Case, config: HardwareConfig, memory: MemoryTiming) -> Convolution:
        """The convolution of a case. Raises `Refusal` if not even the smallest tiles fit."""
        target, layer = accelerator(config, memory), case.layer
        passes, numbers = epilogue_passes(case.requantisation, layer.outputs, config)
        workload = Conv2dWorkload(
            data=packed_data_shape(case.data.shape, config),
            weight=packed_weight_shape(case.weight.shape, config),
            strides=(layer.stride,) * 2,
            padding=(layer.padding,) * 4,
            dilation=(1, 1),
            groups=1,
            passes=passes,
        )
        values = {"data": pack_data(case.data, config), "weight": pack_weight(case.weight, config)}
        choice = best_choice(target, Convolution.template, workload, {"threads": (HIDING,)})
        return Convolution(
            case, target, workload, {**values, **numbers.tensors}, numbers.immediates, choice
        )

    @property
    def channels(self) -> dict[str, Array]:
        """The arguments with a value for each channel."""
        return {
            name: value for name, value in self.values.items() if name not in ("data", "weight")
        }

    def build(self, threads: int) -> CompiledConvolution:
        """Compile the stream with `threads` virtual threads; the tiles do not depend on `threads`.

        Raises
        ------
        CompilerError
            The machine cannot compute the convolution.
        """
        machine = self.target.machine
        choice = {**self.choice, "threads": threads}
        program = self.template.schedule(self.workload, choice, machine).program
        operator = Operator(program, {}, immediates=self.immediates)
        stream = compile_stream([operator], machine)
        shape = (1, self.case.layer.outputs, *self.case.layer.size)
        return CompiledConvolution(stream, dict(self.values), shape, "out")
