"""A CPU as a target."""

from __future__ import annotations

from tandem.compiler.graph.nodes import Call
from tandem.compiler.lower.lowering import LOOP_PASSES
from tandem.compiler.machines.cpu.backend import KernelBackend
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.runner import exact_runner
from tandem.compiler.machines.cpu.small_loops import SerialSmallLoops
from tandem.compiler.machines.cpu.templates.compressed_layers import (
    CompressedDenseOnCpu,
    CompressedMatmulOnCpu,
)
from tandem.compiler.machines.cpu.templates.conv2d import Conv2dOnCpu
from tandem.compiler.machines.cpu.templates.dense import DenseOnCpu
from tandem.compiler.machines.cpu.templates.depthwise import DepthwiseOnCpu
from tandem.compiler.machines.cpu.templates.depthwise_dots import DottedDepthwiseOnCpu
from tandem.compiler.machines.cpu.templates.matmul import ComputedMatmulOnCpu, MatmulOnCpu
from tandem.compiler.machines.cpu.templates.winograd import WinogradOnCpu
from tandem.compiler.plan.target import Target, TemplateCosts, TunedChoices

TEMPLATES = (
    WinogradOnCpu(),
    Conv2dOnCpu(),
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
        takes_compressed=_is_dense,
    )


def _is_dense(call: Call) -> bool:
    """Whether an operator is a dense layer, which reads each weight once for few rows: its codes
    are widened as they are read."""
    return call.callee.name == "dense"
