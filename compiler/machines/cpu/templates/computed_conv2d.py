"""Convolutions on the CPU whose weights are no constants, as in a step of training.

The kernel packs the weights before it computes: with an image of several pixels that costs little.
"""

from __future__ import annotations

from functools import partial

from tandem.compiler.errors import Refusal
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Call
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.templates.conv2d import Conv2dOnCpu, packed_conv2d
from tandem.compiler.machines.cpu.templates.layer import (
    LayerWorkload,
    element_by_element,
    layer_patterns,
)
from tandem.compiler.plan.pattern import Operand
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch

_LEAST_USES = 4
"""The fewest products that each weight has for it to be packed."""


class ComputedConv2dOnCpu(Conv2dOnCpu):
    """A convolution with weights that the kernel packs."""

    name = "computed_conv2d"
    patterns = layer_patterns("conv2d", rank=4, weights=(Operand("weight"),))
    packed = staticmethod(partial(packed_conv2d, constant=False))

    def bind(self, found: KernelMatch, machine: CpuTarget) -> tuple[LayerWorkload, Arguments]:
        kernel, layer = found.kernel, found.match.lets[-1]
        assert isinstance(layer.value, Call), "matched"
        data, weight, *_ = layer.value.args
        names = [param.name for param in kernel.params]
        if isinstance(weight, Constant) or weight.name not in names or data == weight:
            raise Refusal("the weights are no parameter of their own")
        workload = LayerWorkload(kernel, kernel.body.lets.index(layer), names.index(weight.name))
        images, _, rows, columns = workload.result.static_shape("out")
        if images * rows * columns < _LEAST_USES:
            raise Refusal("each weight has few products")
        element_by_element(kernel, layer)
        self.check(workload, machine)
        return workload, Arguments()
