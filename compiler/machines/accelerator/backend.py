"""The accelerator's back end: schedules the kernels of a stream and links them to one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import BuildError
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Call, Function, Tuple, Var
from tandem.compiler.graph.operators.layouts import View
from tandem.compiler.graph.passes.pipeline import GraphPass
from tandem.compiler.graph.types import TensorType
from tandem.compiler.graph.visit import names_of, rename
from tandem.compiler.machines.accelerator.least_traffic import needed_bytes
from tandem.compiler.machines.accelerator.lower import Operator, Stream, compile_stream
from tandem.compiler.machines.accelerator.lower.programs import ProgramCache
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.planned_calls import (
    PlannedCall,
    PlannedStream,
    StreamPlaces,
    places_of,
)
from tandem.compiler.machines.accelerator.sketches.recorded import RecordedSketches
from tandem.compiler.plan.offload import offload_passes
from tandem.compiler.plan.parts import ArtifactParts, Invocation
from tandem.compiler.plan.placement import placement_of
from tandem.compiler.plan.planner import Planner, kernel_of
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.plan.target import Backend, Target
from tandem.runtime.artifact import Step
from tandem.runtime.artifact.stream import Layer, PlacedTensor, StreamCode


class StreamBackend(Backend):
    """Compiles streams for the accelerator."""

    def __init__(self, target: Target[AcceleratorTarget]) -> None:
        self.target = target
        self.planner = Planner(target)
        # Which kernels there are does not depend on records, which are of these kernels' workloads.
        self._costs = Planner(replace(target, tuned=None)) if target.tuned else self.planner
        self._sketches = RecordedSketches(target)
        self._programs = ProgramCache(target.machine, target.passes)
        self.planned: dict[str, tuple[PlannedCall, ...]] = {}
        """The calls of each compiled stream, by its name."""

    def passes(self) -> tuple[GraphPass, ...]:
        return offload_passes(self.target, self.planner.plan, self._costs)

    def step(self, call: Invocation, parts: ArtifactParts) -> Step:
        stream = call.kernel
        parts.progress(f"compiling {stream.name}")
        planned = self.planned_stream(stream)
        self.planned[stream.name] = planned.calls
        code = self.code(stream.name, planned)
        parts.code[stream.name] = code
        given = {
            param.name: operand
            for param, operand in zip(stream.params, call.operands, strict=True)
            if isinstance(operand, str)
        }
        return Step(
            name=call.name,
            device=self.target.name,
            code=stream.name,
            inputs=tuple(given[tensor.name] for tensor in code.inputs),
            outputs=call.outputs,
            operators=tuple(name for layer in code.layers for name in layer.operators),
            macs=sum(layer.macs for layer in code.layers),
        )

    def planned_stream(self, stream: Function) -> PlannedStream:
        """The plans of a stream's calls."""
        types = infer(stream)
        calls, placements, results = [], dict[str, Call](), [stream.body.result]
        viewed: dict[str, Atom] = {}
        for let in stream.body.lets:
            value = rename(let.value, viewed)
            match value:
                case Tuple(items=items):
                    results = [*items]
                    continue
                case Call(args=(operand,), attributes=View()):
                    viewed[let.name] = operand
                    continue
            assert isinstance(value, Call), "verified: streams call kernels"
            if placement_of(kernel_of(value)) is not None:
                placements[let.name] = value
                continue
            type_ = types[let.name]
            assert isinstance(type_, TensorType), "kernels for the accelerator give one tensor"
            plan = self.planner.plan(value)
            sketch = self._sketches.of(plan)
            calls.append(PlannedCall(let.name, type_, let.source, plan, let.joined, sketch))
        given = {param.name for param in stream.params}
        read = [name for call in calls for name in call.tensors.values()]
        read += [name for call in placements.values() for name in names_of(call)]
        inputs = dict.fromkeys(name for name in read if name in given)
        named = [each.name for each in results if isinstance(each, Var)]
        return PlannedStream(tuple(calls), placements, types, tuple(inputs), tuple(named))

    def linked(self, planned: PlannedStream) -> Stream:
        """All calls as one instruction stream, without barriers; the parameters are `code`'s."""
        return self._linked(planned, self._places(planned))

    def _linked(self, planned: PlannedStream, places: StreamPlaces) -> Stream:
        operators = []
        for call in planned.calls:
            sketch = call.sketch
            program = self.planner.schedule(call.plan).program if sketch is None else sketch.program
            call.check(program)
            given = call.plan.arguments
            operators.append(
                Operator(program, call.named, call.name, given.immediates, given.forms)
            )
        return compile_stream(
            operators, self.target.machine, places.addresses, self._programs, places.end
        )

    def code(self, name: str, planned: PlannedStream) -> StreamCode:
        """The machine code and memory image of a stream, which runs all calls without barriers."""
        calls, results, inputs = planned.calls, planned.results, planned.inputs
        places = self._places(planned)
        stream = self._linked(planned, places)
        values = {
            call.named[tensor]: value
            for call in calls
            for tensor, value in _stored(call.plan.arguments).items()
        }

        def resident(tensor: str) -> PlacedTensor:
            return _resident(stream, tensor, planned.tensor(tensor).stored, places.addresses)

        sites = stream.sites
        sources = {site: _place(*site) for site in set(sites)}
        return StreamCode(
            name=name,
            config=self.target.machine.config,
            program=stream.program.data,
            image=stream.image(values),
            inputs=tuple(map(resident, inputs)),
            outputs=tuple(map(resident, results)),
            layers=tuple(_layer(stream, each) for each in calls),
            layer_of=stream.operator_of,
            contents=_contents(stream, {*inputs, *results}),
            places=tuple(map(sources.__getitem__, sites)),
        )

    def _places(self, planned: PlannedStream) -> StreamPlaces:
        return places_of(planned, self.target.machine.config)


def _stored(arguments: Arguments) -> dict[str, NDArray[np.generic]]:
    """A layer's tensors as they lie in DRAM."""
    coded = {name: coded.data for name, coded in arguments.forms.items()}
    return {**arguments.tensors, **coded}


def _resident(
    stream: Stream, name: str, type_: TensorType, addresses: Mapping[str, int]
) -> PlacedTensor:
    """A stream's input or output: address, type, and shape as stored.

    Parameters
    ----------
    addresses
        Addresses of tensors that no program may name: they consist of others, or are parts.
    """
    shape = type_.static_shape(name)
    if name not in stream.tensors:
        return PlacedTensor(name, addresses[name], shape, type_.dtype.numpy.name)
    place = stream.tensors[name]
    if place.buffer.size != prod(shape) or place.buffer.dtype != type_.dtype:
        raise BuildError(
            f"{name} is {type_} in the graph and {place.buffer.dtype}{list(place.buffer.shape)} in "
            f"the stream: the template's program takes another tensor than its kernel"
        )
    return PlacedTensor(name, place.address, shape, place.buffer.dtype.numpy.name)


def _contents(stream: Stream, known: set[str]) -> tuple[PlacedTensor, ...]:
    """The stream's internal tensors and micro-ops in DRAM; `known` names its inputs and results."""
    tensors = [
        PlacedTensor(name, at.address, at.shape, at.kind.name)
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
    traffic = int(sum(needed_bytes(stream, call).values()))
    plan = call.plan
    return Layer(
        call.source,
        plan.found.match.operators,
        call.macs,
        traffic,
        plan.arguments.remark,
        call.joined,
    )


def _place(stage: str, iterations: Sequence[tuple[str, int]]) -> str:
    return " ".join((stage, *(f"{name}={value}" for name, value in iterations)))
