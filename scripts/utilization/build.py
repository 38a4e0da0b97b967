"""From a convolution to an instruction stream, with latency hiding and without."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from compiler.ir.dtypes import INT8
from compiler.lower.accelerator.stream import Operator, Stream, compile_stream
from compiler.operators.accelerator.conv2d import PackedConv2d, packed_conv2d
from compiler.operators.accelerator.conv2d_cost import ConvShape
from compiler.operators.accelerator.conv2d_schedule import conv2d_schedule
from compiler.operators.accelerator.conv2d_tiles import choose_tiling
from compiler.operators.accelerator.machine_cost import MachineCost, MemoryTiming
from compiler.operators.accelerator.packing import (
    pack_data,
    pack_weight,
    packed_data_shape,
    packed_weight_shape,
    unpack_data,
)
from compiler.operators.accelerator.requantise import requantise
from compiler.operators.accelerator.tiling import Tiling
from compiler.target import AcceleratorTarget
from compiler.te import placeholder
from hw.config import HardwareConfig
from scripts.utilization.case import Case

__all__ = ["HIDING", "Built", "Convolution"]

HIDING = 2
"""Virtual threads that hide latency: one computes while the other's data come."""

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Built:
    """A stream, and what its memory begins with."""

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
    """A case on a configuration, and the tiles that are best with latency hiding."""

    case: Case
    config: HardwareConfig
    conv: PackedConv2d
    values: dict[str, Array]
    tiling: Tiling

    @staticmethod
    def of(case: Case, config: HardwareConfig, memory: MemoryTiming) -> Convolution:
        """Raises `CapacityError` where not even the smallest tiles fit."""
        data = placeholder(packed_data_shape(case.data.shape, config), INT8, "data")
        weight = placeholder(packed_weight_shape(case.weight.shape, config), INT8, "weight")
        values = {"data": pack_data(case.data, config), "weight": pack_weight(case.weight, config)}
        after = requantise(case.requantisation, case.layer.outputs, config, "operand")
        padding, strides = (case.layer.padding,) * 4, (case.layer.stride,) * 2
        conv = packed_conv2d(data, weight, after.passes, strides=strides, padding=padding)
        tiling = choose_tiling(ConvShape.of(conv), MachineCost(config, memory), HIDING)
        return Convolution(case, config, conv, {**values, **after.values}, tiling)

    def build(self, threads: int) -> Built:
        """The stream with so many virtual threads; the tiles are always the same.

        Raises
        ------
        CompilerError
            For what the machine cannot do.
        """
        target = AcceleratorTarget.of(self.config)
        tiling = replace(self.tiling, threads=threads)
        program = conv2d_schedule(self.conv, tiling, target).program
        stream = compile_stream([Operator(program, {})], target)
        shape = (1, self.case.layer.outputs, *self.case.layer.size)
        return Built(stream, self.values, shape, self.conv.output.name)
