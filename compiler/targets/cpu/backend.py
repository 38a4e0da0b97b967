"""Kernels of the graph as programs for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from compiler.codegen import CpuTarget, compile_function, emit_object
from compiler.errors import Unsupported
from compiler.graph.constant import Constant
from compiler.graph.expressions import tensors
from compiler.graph.infer import infer
from compiler.graph.nodes import Call, Function, Var
from compiler.graph.opspec import OpSpec
from compiler.graph.passes.base import Pass
from compiler.graph.passes.fuse import Fuse
from compiler.graph.passes.infer_types import InferTypes
from compiler.ir.stmt import Function as Program
from compiler.operators.cpu.generic import cpu_schedule
from compiler.operators.cpu.simd import Simd
from compiler.targets.parts import Invocation, Parts, Report
from compiler.targets.planner import Plan, best_choice
from compiler.targets.target import Backend, Target
from compiler.te.macs import macs_of
from compiler.templates.cpu.layer import PackedLayer, placeholders
from compiler.templates.pattern import Matcher
from compiler.templates.template import KernelMatch
from runtime.artifact import KernelCall, Step
from runtime.native import ObjectCode

__all__ = ["CpuKernel", "KernelBackend", "cpu_kernel", "layer_plan"]

_Key: TypeAlias = tuple[str, int | None]


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


class KernelBackend(Backend):
    """Compiles kernels to native code, each once for all artifacts that have it."""

    def __init__(self, target: Target[CpuTarget]) -> None:
        self.target = target
        self._plans: dict[tuple[str | None, ...], Plan | None] = {}
        self._compiled: dict[_Key, tuple[CpuKernel, ObjectCode]] = {}
        self._packers: dict[Program, Callable[..., tuple[NDArray[Any], ...]]] = {}

    def passes(self) -> tuple[Pass, ...]:
        return (Fuse(), InferTypes())

    def step(self, call: Invocation, parts: Parts) -> Step:
        self.prepare([call], parts.tell)
        plan, code = self._compiled[self._key(call)]
        name = call.kernel.name
        if parts.kernels.get(name, code) is not code:
            # Its weights are known in one place and not in another.
            name = f"{name}_{'packed' if plan.packing else 'unpacked'}"
        parts.kernels[name] = code
        inputs = []
        for number in plan.operands:
            packing = plan.packing.get(number)
            packed = None if packing is None else self._packer(packing)
            inputs.append(parts.tensor_of(call.operands[number], packed, repr(packing)))
        return KernelCall(
            name=call.name,
            function=name,
            inputs=tuple(inputs),
            outputs=call.outputs,
            operators=plan.operators,
            macs=plan.macs,
            reason=call.reason or "",
        )

    def prepare(self, calls: Sequence[Invocation], tell: Report) -> None:
        new: dict[_Key, Invocation] = {}
        for call in calls:
            if (key := self._key(call)) not in self._compiled:
                new.setdefault(key, call)
        if not new:
            return
        # LLVM works without Python's global lock.
        with ThreadPoolExecutor(CpuTarget.host().threads) as executor:
            found = executor.map(self._kernel, new.values())
            for key, call in new.items():
                tell(f"compiling {call.kernel.name}")
                self._compiled[key] = next(found)

    def _key(self, call: Invocation) -> _Key:
        """What calls have in common that run the same code."""
        plan = self._plan(call)
        return call.kernel.digest, None if plan is None else plan.workload.weight

    def _plan(self, call: Invocation) -> Plan | None:
        values = (each.digest if isinstance(each, Constant) else None for each in call.operands)
        known = call.kernel.digest, *values
        if known not in self._plans:
            args = (each if isinstance(each, Constant) else Var(each) for each in call.operands)
            self._plans[known] = layer_plan(Call(call.kernel, tuple(args)), self.target)
        return self._plans[known]

    def _kernel(self, call: Invocation) -> tuple[CpuKernel, ObjectCode]:
        """The kernel, scheduled, and its code."""
        made = cpu_kernel(call.kernel, self._plan(call), self.target)
        return made, emit_object(made.program, self.target.machine, self.target.passes)

    def _packer(self, packing: Program) -> Callable[[NDArray[Any]], NDArray[Any]]:
        if packing not in self._packers:
            self._packers[packing] = compile_function(packing, CpuTarget.host(threads=1))
        run = self._packers[packing]
        return lambda array: np.asarray(run(array)[0])
