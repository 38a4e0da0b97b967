"""Streams of the graph as steps of artifacts: kernels planned, scheduled and joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from compiler.errors import BuildError
from compiler.graph.infer import infer
from compiler.graph.memory import Tenant, plan_memory
from compiler.graph.nodes import Call, Tuple, Var
from compiler.graph.passes.base import Pass
from compiler.graph.types import TensorType
from compiler.ir.buffer import Scope
from compiler.ir.stmt import Function as Program
from compiler.lower.accelerator import Operator, Stream, compile_stream
from compiler.lower.accelerator.places import grain
from compiler.lower.accelerator.stream import ProgramCache
from compiler.target import AcceleratorTarget
from compiler.targets.offload import offload_passes
from compiler.targets.parts import Invocation, Parts
from compiler.targets.planner import Plan, Planner
from compiler.targets.target import Backend, Target
from compiler.templates.accelerator.template import AcceleratorTemplate
from runtime.artifact import Step, StreamCall
from runtime.artifact.stream import Layer, Resident, StreamCode

__all__ = ["Offloaded", "StreamBackend"]


@dataclass(frozen=True, slots=True)
class Offloaded:
    """A call of a kernel in a stream, and how the accelerator does it.

    Attributes
    ----------
    name, type
        Of its result.
    source
        What reports call it.
    """

    name: str
    type: TensorType
    source: str
    plan: Plan

    @property
    def tensors(self) -> dict[str, str]:
        """The computed operands, by the program's inputs."""
        return self.plan.found.tensors

    @property
    def named(self) -> dict[str, str]:
        """What all tensors of the program are called in a stream."""
        given = {each: f"{self.name}.{each}" for each in self.plan.arguments.tensors}
        return given | self.tensors | {"out": self.name}

    def check(self, program: Program) -> None:
        """Raise `BuildError` where the workload's program has other tensors than this call."""
        found, arguments = self.plan.found, self.plan.arguments.tensors
        types = {each: found.type_of(each) for each in self.tensors} | {"out": self.type}
        given = {
            name: _Extent.of(array.shape, array.dtype.name) for name, array in arguments.items()
        }
        for name, type_ in types.items():
            given[name] = _Extent.of(type_.static_shape(name), type_.dtype.numpy.name)
        wanted = {
            each.name: _Extent.of(each.shape, each.dtype.numpy.name)
            for each in (*program.inputs, *program.outputs)
            if each.scope is Scope.GLOBAL
        }
        for name in {**wanted, **given}:
            if wanted.get(name) != given.get(name):
                raise BuildError(
                    f"{self.source}: in the program of template {self.plan.template.name} {name} "
                    f"is {wanted.get(name, 'no tensor')}, in the kernel "
                    f"{given.get(name, 'no tensor')}"
                )


@dataclass(frozen=True, slots=True)
class _Extent:
    """What tensors have in common that are the same to the machine: outer axes may be written as
    one, or as several."""

    elements: int
    block: tuple[int, ...]
    dtype: str

    @staticmethod
    def of(shape: tuple[int, ...], dtype: str) -> _Extent:
        return _Extent(prod(shape), shape[-2:], dtype)

    def __str__(self) -> str:
        return f"{self.elements:,} of {self.dtype} in blocks of {list(self.block)}"


class StreamBackend(Backend):
    """Compiles streams for the accelerator.

    Attributes
    ----------
    planner
        Plans of kernels, and schedules of workloads.
    """

    def __init__(self, target: Target[AcceleratorTarget]) -> None:
        self.target = target
        self.planner = Planner(target)
        self._programs = ProgramCache(target.machine, target.passes)

    def passes(self) -> tuple[Pass, ...]:
        return offload_passes(self.target, self.planner.plan)

    def step(self, call: Invocation, parts: Parts) -> Step:
        stream = call.kernel
        parts.tell(f"compiling {stream.name}")
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
            calls.append(Offloaded(let.name, type_, let.source, plan))
        names = [each.name for each in results if isinstance(each, Var)]
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
            inputs=tuple(given[each.name] for each in code.inputs),
            outputs=call.outputs,
            operators=tuple(each for layer in code.layers for each in layer.operators),
            macs=sum(layer.macs for layer in code.layers),
        )

    def code(self, name: str, calls: Sequence[Offloaded], results: Sequence[str]) -> StreamCode:
        """The calls as one stream: without a barrier between them, in memory that they share.

        Parameters
        ----------
        calls
            Each after those whose results it takes.
        results
            Of these, what others want.
        """
        programs = [self.planner.schedule(each.plan).program for each in calls]
        for each, program in zip(calls, programs, strict=True):
            each.check(program)
        operators = [
            Operator(
                program,
                each.named,
                each.name,
                each.plan.arguments.immediates,
            )
            for each, program in zip(calls, programs, strict=True)
        ]
        placed = self._placed(calls, results)
        stream = compile_stream(operators, self.target.machine, placed, self._programs)
        values = {
            each.named[tensor]: value
            for each in calls
            for tensor, value in each.plan.arguments.tensors.items()
        }
        types = {each.name: each.type for each in calls}
        inputs = {
            tensor: each.plan.found.type_of(operand)
            for each in calls
            for operand, tensor in each.tensors.items()
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

    def _placed(self, calls: Sequence[Offloaded], results: Sequence[str]) -> dict[str, int]:
        """Addresses of what calls give each other: what is not needed any more makes room."""
        last = {each.name: number for number, each in enumerate(calls)}
        for number, each in enumerate(calls):
            last |= {tensor: number for tensor in each.tensors.values() if tensor in last}
        last |= dict.fromkeys(results, len(calls))
        tenants = [
            Tenant(each.name, _bytes(each.type), number, last[each.name])
            for number, each in enumerate(calls)
        ]
        plan = plan_memory(tenants, grain(self.target.machine.config))
        return {each.name: at for each, at in zip(tenants, plan.offsets, strict=True)}


def _bytes(type_: TensorType) -> int:
    return int(np.prod(type_.static_shape("a packed tensor"), dtype=np.int64))


def _resident(stream: Stream, name: str, type_: TensorType) -> Resident:
    """A tensor's place; its shape is the graph's."""
    place, shape = stream.tensors[name], type_.static_shape(name)
    if place.buffer.size != prod(shape) or place.buffer.dtype != type_.dtype:
        raise BuildError(
            f"{name} is {type_} in the graph and {place.buffer.dtype}{list(place.buffer.shape)} in "
            f"the stream: the template's program takes another tensor than its kernel"
        )
    return Resident(name, place.address, shape, place.buffer.dtype.numpy.name)


def _contents(stream: Stream, known: set[str]) -> tuple[Resident, ...]:
    """What lies in memory beside inputs and results."""
    tensors = [
        Resident(name, at.address, at.buffer.shape, at.buffer.dtype.numpy.name)
        for name, at in stream.tensors.items()
        if name not in known
    ]
    constants = [
        Resident("micro-ops", address, (len(data),), "int8")
        for address, data in stream.constants.items()
        if any(data)
    ]
    return (*tensors, *constants)


def _layer(stream: Stream, offloaded: Offloaded) -> Layer:
    found, template = offloaded.plan.found, _template(offloaded.plan)
    least = _least(stream, offloaded)
    return Layer(offloaded.source, found.match.operators, template.macs(found), least)


def _template(plan: Plan) -> AcceleratorTemplate[Any]:
    assert isinstance(plan.template, AcceleratorTemplate), "all of the accelerator's are such"
    return plan.template


def _least(stream: Stream, offloaded: Offloaded) -> int:
    """The bytes of `Layer.least_bytes`."""
    parts = _template(offloaded.plan).needed(offloaded.plan.workload)
    least: dict[str, Fraction] = {}
    for own, tensor in offloaded.named.items():
        part = parts.get(own, Fraction(1)) * stream.tensors[tensor].size
        # A value that is two operands is read once, as far as one of them needs it.
        least[tensor] = max(part, least.get(tensor, Fraction(0)))
    return int(sum(least.values()))


def _place(stage: str, iterations: Sequence[tuple[str, int]]) -> str:
    return " ".join((stage, *(f"{name}={value}" for name, value in iterations)))
