"""A CPU as a target, and its back end: kernels as native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from compiler.codegen import CpuTarget, compile_function, emit_object
from compiler.graph.constant import Constant
from compiler.graph.nodes import Call, Var
from compiler.graph.passes.base import Pass
from compiler.graph.passes.fuse import Fuse
from compiler.graph.passes.infer_types import InferTypes
from compiler.ir.buffer import Scope
from compiler.ir.dtypes import INT8
from compiler.ir.stmt import Function as Program
from compiler.lower.pipeline import CPU_PASSES
from compiler.targets.cpu.kernels import CpuKernel, cpu_kernel, layer_plan
from compiler.targets.parts import Invocation, Parts, Report
from compiler.targets.planner import Plan
from compiler.targets.target import Backend, CostModel, Memory, Target
from compiler.templates.cpu.conv2d import Conv2dOnCpu
from compiler.templates.cpu.dense import DenseOnCpu
from compiler.templates.space import Choices, Floats
from runtime.artifact import KernelCall, Step
from runtime.native import ObjectCode

__all__ = ["TEMPLATES", "KernelBackend", "RegisterTiles", "cpu"]

TEMPLATES = (Conv2dOnCpu(), DenseOnCpu())
"""What a CPU does with packed weights. A schedule that is good for any kernel does the rest."""

_Key: TypeAlias = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class RegisterTiles(CostModel):
    """What the templates estimate of tiles in registers."""

    machine: CpuTarget

    def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
        found: Floats = template.estimate(workload, choices, self.machine)
        return found


def cpu(machine: CpuTarget) -> Target[CpuTarget]:
    """The host's processor, or one like it."""
    return Target(
        name="",
        machine=machine,
        memories=(Memory(Scope.GLOBAL, (), INT8), Memory(Scope.LOCAL, (), INT8)),
        templates=TEMPLATES,
        passes=CPU_PASSES,
        cost=RegisterTiles(machine),
        make_backend=KernelBackend,
    )


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
