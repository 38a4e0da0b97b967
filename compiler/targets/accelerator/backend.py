"""The accelerator's back end: schedules the kernels of a stream and links them to one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from compiler.errors import BuildError
from compiler.graph.infer import infer
from compiler.graph.memory import LiveRange, plan_memory
from compiler.graph.nodes import Call, Function, Tuple, Var
from compiler.graph.passes.pipeline import Pass
from compiler.graph.types import TensorType
from compiler.ir.buffer import Scope
from compiler.ir.stmt import Function as Program
from compiler.lower.accelerator import Operator, Stream, compile_stream
from compiler.lower.accelerator.dram_layout import dram_alignment, first_address
from compiler.lower.accelerator.programs import ProgramCache
from compiler.target import AcceleratorTarget
from compiler.targets.offload import offload_passes
from compiler.targets.parts import ArtifactParts, Invocation
from compiler.targets.planner import Plan, Planner
from compiler.targets.target import Backend, Target
from compiler.templates.accelerator.template import AcceleratorTemplate
from runtime.artifact import Step, StreamCall
from runtime.artifact.stream import Layer, PlacedTensor, StreamCode


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call of a kernel in a stream, with the accelerator's plan for it.

    Attributes
    ----------
    name, type
        Name and type of the result.
    source
        Name of the layer in reports.
    """

    name: str
    type: TensorType
    source: str
    plan: Plan

    @property
    def tensors(self) -> dict[str, str]:
        """Names in the stream of the computed operands, by the names of the program's inputs."""
        return self.plan.found.tensors

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates."""
        return _template(self.plan).macs(self.plan.found)

    @property
    def named(self) -> dict[str, str]:
        """Names in the stream of all tensors, by their names in the program."""
        given = {name: f"{self.name}.{name}" for name in self.plan.arguments.tensors}
        return given | self.tensors | {"out": self.name}

    def check(self, program: Program) -> None:
        """Raise `BuildError` unless the program and this call have the same tensors."""
        found, arguments = self.plan.found, self.plan.arguments.tensors
        types = {each: found.type_of(each) for each in self.tensors} | {"out": self.type}
        given = {
            name: _Extent.of(array.shape, array.dtype.name) for name, array in arguments.items()
        }
        for name, type_ in types.items():
            given[name] = _Extent.of(type_.static_shape(name), type_.dtype.numpy.name)
        wanted = {
            buffer.name: _Extent.of(buffer.shape, buffer.dtype.numpy.name)
            for buffer in (*program.inputs, *program.outputs)
            if buffer.scope is Scope.GLOBAL
        }
        for name in {**wanted, **given}:
            own, other = wanted.get(name), given.get(name)
            if own is None or other is None or not own.is_same(other):
                raise BuildError(
                    f"{self.source}: in the program of template {self.plan.template.name} {name} "
                    f"is {wanted.get(name, 'no tensor')}, in the kernel "
                    f"{given.get(name, 'no tensor')}"
                )


@dataclass(frozen=True, slots=True)
class _Extent:
    """A tensor's size, block shape and type, without what may differ between tensors of the same
    bytes: outer axes."""

    elements: int
    block: tuple[int, ...]
    dtype: str

    @staticmethod
    def of(shape: tuple[int, ...], dtype: str) -> _Extent:
        return _Extent(prod(shape), shape[-2:], dtype)

    def is_same(self, kernel: _Extent) -> bool:
        """Whether a tensor of the program has the bytes of the kernel's. Several blocks of one row,
        pixels of an image, may be one block of the program: weights."""
        block, own = self.block, kernel.block
        same = block == own or (own[:1] == (1,) and block[1:] == own[1:])
        return same and (self.elements, self.dtype) == (kernel.elements, kernel.dtype)

    def __str__(self) -> str:
        return f"{self.elements:,} of {self.dtype} in blocks of {list(self.block)}"


class StreamBackend(Backend):
    """Compiles streams for the accelerator."""

    def __init__(self, target: Target[AcceleratorTarget]) -> None:
        self.target = target
        self.planner = Planner(target)
        self._programs = ProgramCache(target.machine, target.passes)
        self.planned: dict[str, tuple[PlannedCall, ...]] = {}
        """The calls of each compiled stream, by its name."""

    def passes(self) -> tuple[Pass, ...]:
        return offload_passes(self.target, self.planner.plan)

    def step(self, call: Invocation, parts: ArtifactParts) -> Step:
        stream = call.kernel
        parts.progress(f"compiling {stream.name}")
        calls, names = self.calls_of(stream)
        self.planned[stream.name] = calls
        code = self.code(stream.name, calls, names)
        parts.streams[stream.name] = code
        parts.config = self.target.machine.config
        given = {
            param.name: operand
            for param, operand in zip(stream.params, call.operands, strict=True)
            if isinstance(operand, str)
        }
        return StreamCall(
            name=call.name,
            stream=stream.name,
            inputs=tuple(given[tensor.name] for tensor in code.inputs),
            outputs=call.outputs,
            operators=tuple(name for layer in code.layers for name in layer.operators),
            macs=sum(layer.macs for layer in code.layers),
        )

    def calls_of(self, stream: Function) -> tuple[tuple[PlannedCall, ...], list[str]]:
        """The planned calls of a stream in its order, and the names of its results."""
        types = infer(stream)
        calls, results = [], [stream.body.result]
        for let in stream.body.lets:
            type_ = types[let.name]
            if isinstance(let.value, Tuple):
                results = [*let.value.items]
                continue
            assert isinstance(let.value, Call), "verified: streams call kernels"
            assert isinstance(type_, TensorType), "kernels for the accelerator give one tensor"
            plan = self.planner.plan(let.value)
            calls.append(PlannedCall(let.name, type_, let.source, plan))
        return tuple(calls), [each.name for each in results if isinstance(each, Var)]

    def linked(self, calls: Sequence[PlannedCall], results: Sequence[str]) -> Stream:
        """All calls as one instruction stream, without barriers; the parameters are `code`'s."""
        operators = []
        for call in calls:
            program = self.planner.schedule(call.plan).program
            call.check(program)
            operators.append(
                Operator(program, call.named, call.name, call.plan.arguments.immediates)
            )
        placed = self._placed(calls, results)
        return compile_stream(operators, self.target.machine, placed, self._programs)

    def code(self, name: str, calls: Sequence[PlannedCall], results: Sequence[str]) -> StreamCode:
        """The machine code and memory image of one stream that runs all calls, without barriers.

        Parameters
        ----------
        calls
            Calls of kernels in topological order.
        results
            Names of the calls whose results are outputs of the stream.
        """
        stream = self.linked(calls, results)
        values = {
            call.named[tensor]: value
            for call in calls
            for tensor, value in call.plan.arguments.tensors.items()
        }
        types = {call.name: call.type for call in calls}
        inputs = {
            tensor: call.plan.found.type_of(operand)
            for call in calls
            for operand, tensor in call.tensors.items()
            if tensor not in types
        }
        sites = stream.sites
        places = {site: _place(*site) for site in set(sites)}
        return StreamCode(
            name=name,
            program=stream.program.data,
            image=stream.image(values),
            inputs=tuple(_resident(stream, each, type_) for each, type_ in inputs.items()),
            outputs=tuple(_resident(stream, each, types[each]) for each in results),
            layers=tuple(_layer(stream, each) for each in calls),
            layer_of=stream.operator_of,
            contents=_contents(stream, {*inputs, *results}),
            places=tuple(map(places.__getitem__, sites)),
        )

    def _placed(self, calls: Sequence[PlannedCall], results: Sequence[str]) -> dict[str, int]:
        """DRAM addresses of the calls' results; memory is reused after a result's last use."""
        last = {call.name: number for number, call in enumerate(calls)}
        for number, call in enumerate(calls):
            last |= {tensor: number for tensor in call.tensors.values() if tensor in last}
        last |= dict.fromkeys(results, len(calls))
        live_ranges = [
            LiveRange(call.name, _bytes(call.type), number, last[call.name])
            for number, call in enumerate(calls)
        ]
        config = self.target.machine.config
        offsets = plan_memory(live_ranges, dram_alignment(config)).offsets
        first = first_address(config)
        return {each.name: first + at for each, at in zip(live_ranges, offsets, strict=True)}


def _bytes(type_: TensorType) -> int:
    return int(np.prod(type_.static_shape("a packed tensor"), dtype=np.int64))


def _resident(stream: Stream, name: str, type_: TensorType) -> PlacedTensor:
    """A stream's input or output: address, type, and shape as in the graph."""
    place, shape = stream.tensors[name], type_.static_shape(name)
    if place.buffer.size != prod(shape) or place.buffer.dtype != type_.dtype:
        raise BuildError(
            f"{name} is {type_} in the graph and {place.buffer.dtype}{list(place.buffer.shape)} in "
            f"the stream: the template's program takes another tensor than its kernel"
        )
    return PlacedTensor(name, place.address, shape, place.buffer.dtype.numpy.name)


def _contents(stream: Stream, known: set[str]) -> tuple[PlacedTensor, ...]:
    """The stream's internal tensors and micro-ops in DRAM; `known` names its inputs and results."""
    tensors = [
        PlacedTensor(name, at.address, at.buffer.shape, at.buffer.dtype.numpy.name)
        for name, at in stream.tensors.items()
        if name not in known
    ]
    constants = [
        PlacedTensor("micro-ops", address, (len(data),), "int8")
        for address, data in stream.constants.items()
        if any(data)
    ]
    return (*tensors, *constants)


def _layer(stream: Stream, call: PlannedCall) -> Layer:
    traffic = _minimum_traffic(stream, call)
    return Layer(call.source, call.plan.found.match.operators, call.macs, traffic)


def _template(plan: Plan) -> AcceleratorTemplate[Any]:
    assert isinstance(plan.template, AcceleratorTemplate), "as all in the accelerator's table"
    return plan.template


def _minimum_traffic(stream: Stream, call: PlannedCall) -> int:
    """The fewest bytes that the call must move to or from DRAM (`Layer.least_bytes`)."""
    parts = _template(call.plan).minimum_traffic(call.plan.workload)
    least: dict[str, Fraction] = {}
    for operand, tensor in call.named.items():
        part = parts.get(operand, Fraction(1)) * stream.tensors[tensor].size
        # A tensor that is bound to two operands is read once: take the larger fraction.
        least[tensor] = max(part, least.get(tensor, Fraction(0)))
    return int(sum(least.values()))


def _place(stage: str, iterations: Sequence[tuple[str, int]]) -> str:
    return " ".join((stage, *(f"{name}={value}" for name, value in iterations)))
