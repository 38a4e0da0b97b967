"""Kernels of the graph as programs for the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from compiler.codegen import CpuTarget
from compiler.errors import Unsupported
from compiler.graph.constant import Constant
from compiler.graph.expressions import tensors
from compiler.graph.infer import infer
from compiler.graph.nodes import Call, Function
from compiler.graph.opspec import OpSpec
from compiler.ir.stmt import Function as Program
from compiler.operators.cpu.generic import cpu_schedule
from compiler.operators.cpu.simd import Simd
from compiler.targets.planner import Plan, best_choice
from compiler.targets.target import Target
from compiler.te.macs import macs_of
from compiler.templates.cpu.layer import PackedLayer, placeholders
from compiler.templates.pattern import Matcher
from compiler.templates.template import KernelMatch

__all__ = ["CpuKernel", "cpu_kernel", "layer_plan"]


@dataclass(frozen=True, slots=True)
class CpuKernel:
    """A kernel, scheduled.

    Attributes
    ----------
    program
        What computes it.
    operands
        Which parameter of the kernel each input of the program is.
    packing
        By parameters whose values the program wants in another order: what brings them there.
    operators
        Of the graph, in order.
    macs
        Useful multiply-accumulates.
    """

    program: Program
    operands: tuple[int, ...]
    packing: Mapping[int, Program]
    operators: tuple[str, ...]
    macs: int


def layer_plan(call: Call, target: Target[CpuTarget]) -> Plan | None:
    """The first layer of the kernel that is called, and how a template does it; None where no
    template takes one.

    Parameters
    ----------
    call
        Arguments that are constants are known when it is compiled: templates may pack them.
    """
    kernel = call.callee
    assert isinstance(kernel, Function), "a kernel"
    pairs = zip(kernel.params, call.args, strict=True)
    known = {param.name: arg for param, arg in pairs if isinstance(arg, Constant)}
    matcher = Matcher(kernel.body, infer(kernel), known=known)
    for let in kernel.body.lets:
        for template in target.templates:
            for pattern in template.patterns:
                try:
                    found = KernelMatch(call, matcher.at(pattern, let.name))
                    workload, arguments = template.bind(found, target.machine)
                    choice = best_choice(target, template, workload)
                    return Plan(template, found, workload, arguments, choice)
                except Unsupported:
                    continue  # The schedule that is good for any kernel takes it.
    return None


def cpu_kernel(kernel: Function, plan: Plan | None, target: Target[CpuTarget]) -> CpuKernel:
    """The kernel's program: as planned, or by the schedule that is good for any."""
    inputs = placeholders(kernel)
    outputs = tensors(kernel, inputs)
    packing: dict[int, Program] = {}
    if plan is None:
        simd = Simd.of(target.machine.features)
        schedule = cpu_schedule(*outputs, simd=simd, inputs=inputs, name=kernel.name)
    else:
        assert isinstance(plan.template, PackedLayer), "all templates of a CPU are such"
        given = plan.workload, plan.choice, target.machine
        schedule = plan.template.schedule(*given)
        packing = {plan.workload.weight: plan.template.packing(*given)}
    program = replace(schedule.program, name=kernel.name)
    places = {each.name: number for number, each in enumerate(kernel.params)}
    places |= {each.outputs[0].name: number for number, each in packing.items()}
    operators = tuple(
        let.value.callee.name
        for let in kernel.body.lets
        if isinstance(let.value, Call) and isinstance(let.value.callee, OpSpec)
    )
    operands = tuple(places[each.name] for each in program.inputs)
    return CpuKernel(program, operands, packing, operators, macs_of(outputs))
