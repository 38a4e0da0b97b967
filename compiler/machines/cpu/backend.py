"""The CPU's back end: schedules kernels and compiles them to native code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import ReplayError, ScheduleError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Call, Function, Var
from tandem.compiler.graph.passes.fuse import Fuse
from tandem.compiler.graph.passes.infer_types import InferTypes
from tandem.compiler.graph.passes.pipeline import GraphPass
from tandem.compiler.graph.passes.tabulate import Tabulate
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function, emit_object
from tandem.compiler.machines.cpu.codegen.byte_tables import lookup_cost
from tandem.compiler.machines.cpu.kernels import (
    CpuKernel,
    computation_of,
    cpu_kernel,
    sketched_kernel,
)
from tandem.compiler.machines.cpu.narrow_constants import is_narrow
from tandem.compiler.machines.cpu.network import make_network
from tandem.compiler.machines.cpu.put_rows import rows_code
from tandem.compiler.machines.cpu.schedules.leave_padding import LeavePadding
from tandem.compiler.plan.parts import ArtifactParts, Invocation, Progress
from tandem.compiler.plan.pattern import Match
from tandem.compiler.plan.planner import Plan, Planner
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.plan.target import Backend, Target
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.template import SKETCHES
from tandem.runtime.artifact import HOST, Code, Manifest, Step
from tandem.runtime.native import NETWORK, POOL, ObjectCode
from tandem.runtime.native.pool_object import make_pool_object

_Key: TypeAlias = tuple[str, int | None, frozenset[int], frozenset[int] | None]


@dataclass(frozen=True, slots=True)
class SketchedCall:
    """A kernel that sketches may be made of.

    Attributes
    ----------
    constants
        The positions of the operands that are constants.
    plan
        The template's plan that it is compiled by, if there is one.
    """

    kernel: Function
    constants: frozenset[int]
    plan: Plan | None


@dataclass(frozen=True, slots=True)
class SketchedKernel:
    """A kernel that is scheduled by a sketch of records."""

    computation: Computation
    choice: Choice
    kernel: CpuKernel

    def plan(self, call: Call) -> Plan:
        """How a call of the kernel is compiled."""
        found = KernelMatch(call, Match((), {}))
        return Plan(SKETCHES, found, self.computation, Arguments(), self.choice)


def _call_of(call: Invocation) -> Call:
    """The call of the graph that is compiled."""
    args = (each if isinstance(each, Constant) else Var(each) for each in call.operands)
    return Call(call.kernel, tuple(args))


def constants_of(call: Invocation) -> frozenset[int]:
    """The positions of a call's operands that are constants."""
    return frozenset(at for at, each in enumerate(call.operands) if isinstance(each, Constant))


@dataclass(frozen=True, slots=True)
class PlannedKernel:
    """A layer of a network that a template compiled.

    Attributes
    ----------
    source
        The layer's name.
    """

    source: str
    plan: Plan
    joined: ClassVar[tuple[str, ...]] = ()
    """No template of processors joins layers."""


def _padding_is_undefined(kernel: Function) -> bool:
    """Whether a kernel has one result, with padding, and none of it is zero."""
    result = infer(kernel).get(getattr(kernel.body.result, "name", ""))
    if not isinstance(result, TensorType) or result.layout is None:
        return False
    padded = result.layout.padded_axes(result.static_shape("a kernel's result"))
    return bool(padded) and not any(is_zero for _, is_zero in padded)


class KernelBackend(Backend):
    """Compiles kernels to native code; each kernel once for all artifacts.

    Attributes
    ----------
    planned
        The layers that templates compiled, and the kernels that sketches of records did, by name.
    calls
        The calls of kernels that sketches may be made of, by the name of the result.
    """

    def __init__(self, target: Target[CpuTarget]) -> None:
        self.target = target
        self.planned: dict[str, PlannedKernel] = {}
        self.calls: dict[str, SketchedCall] = {}
        self.planner = Planner(target)
        self._sketches: dict[tuple[str, frozenset[int]], SketchedKernel | None] = {}
        self._compiled: dict[_Key, tuple[CpuKernel, ObjectCode]] = {}
        self._packers: dict[PrimFunc, Callable[..., tuple[NDArray[Any], ...]]] = {}

    def passes(self) -> tuple[GraphPass, ...]:
        tables = Tabulate(self.target.make_runner(), lookup_cost(self.target.machine))
        return (tables, Fuse(), InferTypes())

    def step(self, call: Invocation, parts: ArtifactParts) -> Step:
        if (rows := rows_code(call.kernel)) is not None:
            parts.code[rows.name] = rows
            return Step(
                name=call.name,
                device=HOST,
                code=rows.name,
                inputs=tuple(map(parts.tensor_of, call.operands)),
                outputs=call.outputs,
                operators=("put_rows",),
                macs=0,
                reason=call.reason or "",
            )
        self.prepare([call], parts.progress)
        template_plan = self._plan(call)
        if not self._narrow(call):
            self.calls[call.name] = SketchedCall(call.kernel, constants_of(call), template_plan)
        if (sketch := self._sketch(call)) is not None:
            self.planned[call.name] = PlannedKernel(call.name, sketch.plan(_call_of(call)))
        elif template_plan is not None:
            self.planned[call.name] = PlannedKernel(call.name, template_plan)
        plan, code = self._compiled[self._key(call)]
        name = call.kernel.name
        if parts.code.get(name, code) != code:
            # Another call of this kernel has different code: constant or computed weights.
            name = f"{name}_{'packed' if plan.packing else 'unpacked'}"
        while parts.code.get(name, code) != code:
            name = f"{name}_"
        parts.code[name] = code
        if code.parallel and POOL not in parts.code:
            parts.code[POOL] = make_pool_object(code.triple)
        inputs = []
        for at, number in enumerate(plan.operands):
            packing = plan.packing.get(at)
            if packing is None:
                inputs.append(parts.tensor_of(call.operands[number]))
                continue
            read = [call.operands[source] for source in plan.sources[at]]
            inputs.append(parts.packed_tensor(read, self._packer(packing), repr(packing)))
        return Step(
            name=call.name,
            device=HOST,
            code=name,
            inputs=tuple(inputs),
            outputs=call.outputs,
            operators=call.replaced or plan.operators,
            macs=plan.macs,
            reason=call.reason or "",
        )

    def prepare(self, calls: Sequence[Invocation], progress: Progress) -> None:
        new: dict[_Key, Invocation] = {}
        for call in calls:
            if rows_code(call.kernel) is not None:
                continue
            if (key := self._key(call)) not in self._compiled:
                new.setdefault(key, call)
        if not new:
            return
        # LLVM releases the GIL.
        with ThreadPoolExecutor(CpuTarget.host().threads) as executor:
            found = executor.map(self._kernel, new.values())
            for key, call in new.items():
                progress(f"compiling {call.kernel.name}")
                self._compiled[key] = next(found)

    def whole(self, manifest: Manifest, code: Mapping[str, Code]) -> Mapping[str, Code]:
        found = make_network(manifest, code)
        return {} if found is None else {NETWORK: found}

    def _key(self, call: Invocation) -> _Key:
        """A cache key that is equal for calls that run the same code."""
        plan = self._plan(call)
        weight = None if plan is None else plan.workload.weight
        sketch = None if self._sketch(call) is None else constants_of(call)
        return call.kernel.digest, weight, self._narrow(call), sketch

    def _narrow(self, call: Invocation) -> frozenset[int]:
        """The numbers of a call's constants that are packed into bytes."""
        return frozenset(
            number
            for number, operand in enumerate(call.operands)
            if isinstance(operand, Constant) and is_narrow(operand.type)
        )

    def _sketch(self, call: Invocation) -> SketchedKernel | None:
        """The kernel by the sketch that records have of its computation; None without one, and for
        a record of another version, whose decisions do not fit."""
        if self.target.tuned is None or self._narrow(call):
            return None
        key = call.kernel.digest, constants_of(call)
        if key not in self._sketches:
            self._sketches[key] = self._tuned_sketch(call.kernel, constants_of(call))
        return self._sketches[key]

    def _tuned_sketch(self, kernel: Function, constants: frozenset[int]) -> SketchedKernel | None:
        assert self.target.tuned is not None, "checked"
        computation = computation_of(kernel, constants)
        choice = self.target.tuned.choice(SKETCHES, computation)
        if not choice:
            return None
        try:
            made = sketched_kernel(kernel, computation, choice, self.target.machine)
        except (ReplayError, ScheduleError):
            return None
        return SketchedKernel(computation, choice, made)

    def _plan(self, call: Invocation) -> Plan | None:
        return self.planner.layer(_call_of(call))

    def _kernel(self, call: Invocation) -> tuple[CpuKernel, ObjectCode]:
        """The scheduled kernel and its code."""
        if (sketch := self._sketch(call)) is not None:
            made = sketch.kernel
        else:
            narrow = sorted(self._narrow(call))
            made = cpu_kernel(call.kernel, self._plan(call), self.target, narrow)
        machine, passes = self.target.machine, self.target.passes
        if not machine.has_vectors and _padding_is_undefined(call.kernel):
            passes = (*passes, LeavePadding(made.program.outputs[0].name))
        return made, emit_object(made.program, machine, passes, made.streamed)

    def _packer(self, packing: PrimFunc) -> Callable[..., NDArray[Any]]:
        if packing not in self._packers:
            self._packers[packing] = compile_function(packing, CpuTarget.host(threads=1))
        run = self._packers[packing]
        return lambda *arrays: np.asarray(run(*arrays)[0])
