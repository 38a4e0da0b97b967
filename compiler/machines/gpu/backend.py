"""The GPU's back end: schedules kernels and writes them in the language of their driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tandem.compiler.graph.expressions import placeholders, tensors
from tandem.compiler.graph.nodes import Call, Function, FunctionKind, Let
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes.eliminate_dead import EliminateDead
from tandem.compiler.graph.passes.fuse import Fuse
from tandem.compiler.graph.passes.infer_types import InferTypes
from tandem.compiler.graph.passes.pipeline import GraphPass
from tandem.compiler.graph.passes.stored_operands import StoredOperands
from tandem.compiler.graph.visit import map_functions, rewrite_lets
from tandem.compiler.machines.gpu.flat_weights import FlatWeights
from tandem.compiler.machines.gpu.kernels import gpu_code
from tandem.compiler.machines.gpu.launch import GpuProgram
from tandem.compiler.machines.gpu.lower.lowering import gpu_program
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.generic import gpu_schedule
from tandem.compiler.machines.gpu.schedules.tile_template import (
    TILES,
    default_choice,
    multiplications,
    products_of,
)
from tandem.compiler.machines.gpu.schedules.why_alone import Multiplication
from tandem.compiler.plan.parts import ArtifactParts, Invocation
from tandem.compiler.plan.pattern import Match
from tandem.compiler.plan.planner import Plan
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch
from tandem.compiler.plan.target import Backend, Target
from tandem.compiler.te import Tensor
from tandem.compiler.te.build import macs_of
from tandem.compiler.te.knobs import Choice
from tandem.runtime.artifact import Step
from tandem.runtime.artifact.gpu_code import GpuCode


@dataclass(frozen=True, slots=True)
class OnDevice:
    """Says of each kernel which target runs it.

    ::

        kernel @relu(...)    ->    kernel[opencl] @relu(...)
    """

    target: str
    name: str = "on-device"

    def apply(self, function: Function) -> Function:
        """The function with the kernels that it calls for the target."""

        def on_target(let: Let) -> tuple[Let, ...]:
            match let.value:
                case Call(callee=Function(kind=FunctionKind.KERNEL, target="") as kernel):
                    moved = replace(kernel, target=self.target)
                    return (replace(let, value=replace(let.value, callee=moved)),)
                case _:
                    return (let,)

        return map_functions(
            function, lambda one: replace(one, body=rewrite_lets(one.body, on_target))
        )


@dataclass(frozen=True, slots=True)
class GpuKernel:
    """A compiled kernel.

    Attributes
    ----------
    operands
        For each input of the code, the number of the kernel's parameter.
    operators
        Names of the kernel's operators, in order.
    macs
        Useful multiply-accumulates.
    """

    code: GpuCode
    operands: tuple[int, ...]
    operators: tuple[str, ...]
    macs: int


@dataclass(frozen=True, slots=True)
class TiledKernel:
    """A kernel of a network with products of matrices.

    Attributes
    ----------
    source
        The name of its result.
    plan
        With the tile that it is compiled with.
    products
        Whether threads or warps multiply with that tile, and why.
    """

    source: str
    plan: Plan
    products: tuple[Multiplication, ...]
    joined: ClassVar[tuple[str, ...]] = ()
    """No template of GPUs joins layers."""


def gpu_kernel(kernel: Function, machine: GpuMachine, choice: Choice | None = None) -> GpuKernel:
    """A kernel, scheduled, lowered, checked for races and written as text.

    Parameters
    ----------
    choice
        Of `TILES`; by default the compiler's own.

    Raises
    ------
    LoweringError
        As `gpu_program`.
    CodegenError
        As `gpu_code`.
    """
    outputs, program = _lowered(kernel, machine, choice)
    code = gpu_code(program, machine)
    numbers = {param.name: number for number, param in enumerate(kernel.params)}
    operators = tuple(
        let.value.callee.name
        for let in kernel.body.lets
        if isinstance(let.value, Call) and isinstance(let.value.callee, OpSpec)
    )
    operands = tuple(numbers[each.name] for each in code.inputs)
    return GpuKernel(code, operands, operators, macs_of(outputs))


def gpu_kernel_program(kernel: Function, machine: GpuMachine) -> GpuProgram:
    """A kernel, scheduled, lowered and checked for races. Raises `LoweringError` as
    `gpu_program`."""
    return _lowered(kernel, machine, None)[1]


def _lowered(
    kernel: Function, machine: GpuMachine, choice: Choice | None
) -> tuple[Sequence[Tensor], GpuProgram]:
    """The tensors that a kernel computes, and the program that does."""
    inputs = placeholders(kernel)
    outputs = tensors(kernel, inputs)
    if choice is None:
        schedule = gpu_schedule(*outputs, machine=machine, inputs=inputs, name=kernel.name)
    else:
        schedule = TILES.schedule(kernel, choice, machine)
    return outputs, gpu_program(schedule.program, machine)


class GpuBackend(Backend):
    """Compiles kernels to text; each kernel once for all artifacts.

    Attributes
    ----------
    planned
        The kernels with products, by the names of their results.
    """

    def __init__(self, target: Target[GpuMachine]) -> None:
        self.target = target
        self.planned: dict[str, TiledKernel] = {}
        self._compiled: dict[str, GpuKernel] = {}

    def passes(self) -> tuple[GraphPass, ...]:
        last = OnDevice(self.target.name), InferTypes()
        if not self.target.machine.warp_products:
            return (Fuse(), *last)
        weights = StoredOperands(), EliminateDead(), FlatWeights()
        return (*weights, Fuse(layers_widen=True), *last)

    def step(self, call: Invocation, parts: ArtifactParts) -> Step:
        kernel = call.kernel
        choice = self._choice(call)
        if kernel.digest not in self._compiled:
            parts.progress(f"compiling {kernel.name}")
            self._compiled[kernel.digest] = gpu_kernel(kernel, self.target.machine, choice)
        made = self._compiled[kernel.digest]
        name = kernel.name
        while parts.code.get(name, made.code) is not made.code:
            name = f"{name}_"
        parts.code[name] = made.code
        return Step(
            name=call.name,
            device=self.target.name,
            code=name,
            inputs=tuple(parts.tensor_of(call.operands[number]) for number in made.operands),
            outputs=call.outputs,
            operators=call.replaced or made.operators,
            macs=made.macs,
            reason=call.reason or "",
        )

    def _choice(self, call: Invocation) -> Choice | None:
        """The tile of a kernel's products, by records if they have one; None without products."""
        products = products_of(call.kernel)
        if not products:
            return None
        tuned = None if self.target.tuned is None else self.target.tuned.choice(TILES, call.kernel)
        choice = tuned or default_choice(products, self.target.machine)
        found = KernelMatch(Call(call.kernel, ()), Match((), {}))
        plan = Plan(TILES, found, call.kernel, Arguments(), choice)
        described = multiplications(call.kernel, self.target.machine, choice)
        self.planned[call.name] = TiledKernel(call.name, plan, described)
        return choice
