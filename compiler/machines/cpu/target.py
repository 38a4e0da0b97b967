"""A CPU as a target."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.types import Type
from tandem.compiler.lower.lowering import LOOP_PASSES
from tandem.compiler.machines.cpu.backend import KernelBackend
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.runner import exact_runner
from tandem.compiler.machines.cpu.small_loops import SerialSmallLoops
from tandem.compiler.machines.cpu.templates.compressed_conv2d import most_pixels, takes_codes
from tandem.compiler.machines.cpu.templates.compressed_layers import (
    CompressedConv2dOnCpu,
    CompressedDenseOnCpu,
    CompressedMatmulOnCpu,
)
from tandem.compiler.machines.cpu.templates.computed_conv2d import ComputedConv2dOnCpu
from tandem.compiler.machines.cpu.templates.conv2d import Conv2dOnCpu
from tandem.compiler.machines.cpu.templates.dense import DenseOnCpu
from tandem.compiler.machines.cpu.templates.depthwise import DepthwiseOnCpu
from tandem.compiler.machines.cpu.templates.depthwise_dots import DottedDepthwiseOnCpu
from tandem.compiler.machines.cpu.templates.matmul import ComputedMatmulOnCpu, MatmulOnCpu
from tandem.compiler.machines.cpu.templates.winograd import WinogradOnCpu
from tandem.compiler.plan.target import Target, TemplateCosts
from tandem.compiler.plan.tuned_choices import TunedChoices

TEMPLATES = (
    CompressedConv2dOnCpu(),
    WinogradOnCpu(),
    Conv2dOnCpu(),
    ComputedConv2dOnCpu(),
    DottedDepthwiseOnCpu(),
    DepthwiseOnCpu(),
    CompressedDenseOnCpu(),
    DenseOnCpu(),
    CompressedMatmulOnCpu(),
    MatmulOnCpu(),
    ComputedMatmulOnCpu(),
)
"""Templates of layers with packed operands; all other kernels use the generic schedule."""


def cpu(machine: CpuTarget, tuned: TunedChoices | None = None) -> Target[CpuTarget]:
    """The target for a CPU such as the host's; `tuned` choices are preferred to estimates."""
    return Target(
        name="",
        machine=machine,
        templates=TEMPLATES,
        passes=(*LOOP_PASSES, SerialSmallLoops(machine.register_bits)),
        cost=TemplateCosts(machine),
        make_backend=KernelBackend,
        tuned=tuned,
        make_runner=exact_runner,
        takes_compressed=_TakesCodes(most_pixels(machine)),
    )


@dataclass(frozen=True, slots=True)
class _TakesCodes:
    """Whether codes are widened as they are read: those of a dense layer, and of a convolution
    whose weights `most` pixels share or fewer."""

    most: int

    def __call__(self, call: Call, result: Type) -> bool:
        match call.attributes:
            case Conv2d() as attributes:
                return takes_codes(attributes, result, self.most)
            case _:
                return call.callee.name == "dense"
