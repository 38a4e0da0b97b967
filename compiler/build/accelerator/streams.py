"""Calls of offloaded kernels, one after the other, as one instruction stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from compiler.build.accelerator.least import needed
from compiler.build.accelerator.operator import Lowered, Lowering
from compiler.build.accelerator.reading import operand_types, operands, read_kernel
from compiler.graph.memory import Tenant, plan_memory
from compiler.graph.nodes import Call
from compiler.graph.types import TensorType
from compiler.lower.accelerator import Stream, compile_stream
from compiler.lower.accelerator.places import grain
from runtime.artifact.stream import Layer, Resident, StreamCode

__all__ = ["Offloaded", "stream_code"]


@dataclass(frozen=True, slots=True)
class Offloaded:
    """A call of an offloaded kernel, and the name and type of its result."""

    name: str
    call: Call
    type: TensorType


def stream_code(
    name: str, calls: Sequence[Offloaded], results: Sequence[str], lowering: Lowering
) -> StreamCode:
    """The calls as one stream: without a barrier between them, in memory that they share.

    Parameters
    ----------
    calls
        Each after those whose results it takes.
    results
        Of these, what others want.

    Raises
    ------
    CompilerError
        A call that the accelerator cannot do: `Offload` asks before.
    """
    lowered = [lowering.lower(each.name, each.call) for each in calls]
    operators = [low.operator(each.call) for low, each in zip(lowered, calls, strict=True)]
    placed = _placed(calls, results, lowering)
    stream = compile_stream(operators, lowering.target, placed)
    values = {low.name_of(each): value for low in lowered for each, value in low.values.items()}
    types = {each.name: each.type for each in calls}
    inputs = {
        name: type_
        for each in calls
        for name, type_ in operand_types(each.call).items()
        if name not in types
    }
    sites = stream.sites
    places = {site: _place(*site) for site in set(sites)}
    return StreamCode(
        name=name,
        program=stream.program.data,
        image=stream.image(values),
        inputs=tuple(_resident(stream, each, type_) for each, type_ in inputs.items()),
        outputs=tuple(_resident(stream, each, types[each]) for each in results),
        layers=tuple(_layer(stream, low, each) for low, each in zip(lowered, calls, strict=True)),
        layer_of=stream.operator_of,
        contents=_contents(stream, {*inputs, *results}),
        places=tuple(map(places.__getitem__, sites)),
    )


def _placed(
    calls: Sequence[Offloaded], results: Sequence[str], lowering: Lowering
) -> dict[str, int]:
    """Addresses of what calls give each other: what is not needed any more makes room."""
    size = grain(lowering.target.config)
    last = {each.name: number for number, each in enumerate(calls)}
    for number, each in enumerate(calls):
        for tensor in operands(each.call).values():
            if tensor in last:
                last[tensor] = number
    last |= dict.fromkeys(results, len(calls))
    tenants = [
        Tenant(each.name, _bytes(each.type), number, last[each.name])
        for number, each in enumerate(calls)
    ]
    plan = plan_memory(tenants, size)
    return {each.name: at for each, at in zip(tenants, plan.offsets, strict=True)}


def _bytes(type_: TensorType) -> int:
    return int(np.prod(type_.static_shape("a packed tensor"), dtype=np.int64))


def _resident(stream: Stream, name: str, type_: TensorType) -> Resident:
    """A tensor's place; its shape is the graph's."""
    place = stream.tensors[name]
    return Resident(name, place.address, type_.static_shape(name), place.buffer.dtype.numpy.name)


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


def _layer(stream: Stream, low: Lowered, offloaded: Offloaded) -> Layer:
    return Layer(_told(low.name), low.operators, low.macs, _least(stream, low, offloaded.call))


def _least(stream: Stream, low: Lowered, call: Call) -> int:
    """The bytes of `Layer.least_bytes`."""
    parts = needed(read_kernel(call))
    least: dict[str, Fraction] = {}
    for own, tensor in low.operator(call).tensors.items():
        part = parts.get(own, Fraction(1)) * stream.tensors[tensor].size
        # A value that is two operands is read once, as far as one of them needs it.
        least[tensor] = max(part, least.get(tensor, Fraction(0)))
    return int(sum(least.values()))


def _told(name: str) -> str:
    """A value's name without what quantisation and blocks have added to it."""
    for suffix in ("_blocks", "_bytes", "_int8", "_acc"):
        name = name.removesuffix(suffix)
    return name


def _place(stage: str, turns: Sequence[tuple[str, int]]) -> str:
    return " ".join((stage, *(f"{name}={value}" for name, value in turns)))
