"""Calls of kernels in a stream with the accelerator's plans, and where their tensors lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tandem.compiler.errors import BuildError
from tandem.compiler.graph.memory import LiveRange, plan_memory
from tandem.compiler.graph.nodes import Call
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.lower.dram_layout import dram_alignment, first_address
from tandem.compiler.machines.accelerator.sketches.products import ProductOnArray
from tandem.compiler.machines.accelerator.sketches.recorded import RecordedSketch
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.plan.placement import bytes_of, regions_of
from tandem.compiler.plan.planner import Plan
from tandem.hw.config import HardwareConfig


@dataclass(frozen=True, slots=True)
class MeasuredCall:
    """A layer with the plan that records tell of, as `tasks_of` takes it."""

    source: str
    plan: Plan
    joined: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call of a kernel in a stream, with the accelerator's plan for it.

    Attributes
    ----------
    name, type
        Name and type of the result.
    source
        Name of the layer in reports.
    joined
        Other names that the layer is found by, as in `Let`.
    sketch
        The sketch of records that it is scheduled by, in place of the plan's choice.
    """

    name: str
    type: TensorType
    source: str
    plan: Plan
    joined: tuple[str, ...] = ()
    sketch: RecordedSketch | None = None

    @property
    def tensors(self) -> dict[str, str]:
        """Names in the stream of the computed operands, by the names of the program's inputs."""
        return self.plan.found.tensors

    @property
    def measured(self) -> MeasuredCall:
        """The call by what records of its schedule are keyed by."""
        if self.sketch is not None:
            return MeasuredCall(self.source, self.sketch.plan(self.plan), self.joined)
        plan = self.plan
        if isinstance(plan.template, ProductOnArray):
            sketch = plan.workload.sketch
            arguments = sketch.arguments(plan.arguments)
            computation = sketch.computation
            plan = replace(
                plan, template=PRODUCT_SKETCHES, workload=computation, arguments=arguments
            )
        return MeasuredCall(self.source, plan, self.joined)

    @property
    def macs(self) -> int:
        """Useful multiply-accumulates."""
        return template_of(self.plan).macs(self.plan.found)

    @property
    def named(self) -> dict[str, str]:
        """Names in the stream of all tensors, by their names in the program."""
        given = {name: f"{self.name}.{name}" for name in self.plan.arguments.tensors}
        return given | self.tensors | {"out": self.name}

    def check(self, program: PrimFunc) -> None:
        """Raise `BuildError` unless the program and this call have the same tensors."""
        found, arguments = self.plan.found, self.plan.arguments.tensors
        types = {each: found.type_of(each) for each in self.tensors} | {"out": self.type}
        given = {
            name: _Extent.of(array.shape, array.dtype.name) for name, array in arguments.items()
        }
        for name, type_ in types.items():
            stored = type_.stored
            given[name] = _Extent.of(stored.static_shape(name), stored.dtype.numpy.name)
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
class PlannedStream:
    """A stream of kernels as the accelerator runs it.

    Attributes
    ----------
    calls
        Calls of kernels that instructions compute, in topological order.
    placements
        Calls of kernels that only place their operands within their result, by the result's name.
    types
        Types of the tensors that the calls and the placements name.
    inputs, results
        Names of the tensors that the host writes before a run, and of those that it reads after.
    """

    calls: tuple[PlannedCall, ...]
    placements: Mapping[str, Call]
    types: Mapping[str, Type]
    inputs: tuple[str, ...]
    results: tuple[str, ...]

    def tensor(self, name: str) -> TensorType:
        """The type of a tensor."""
        type_ = self.types[name]
        assert isinstance(type_, TensorType), "kernels for the accelerator give one tensor"
        return type_


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


def template_of(plan: Plan) -> AcceleratorTemplate[Any]:
    """The template of a plan."""
    assert isinstance(plan.template, AcceleratorTemplate), "as all in the accelerator's table"
    return plan.template


@dataclass(frozen=True, slots=True)
class StreamPlaces:
    """Addresses of a stream's tensors by name, and the first address behind them.

    Attributes
    ----------
    addresses
        Of the calls' results, and of all tensors of placements.
    """

    addresses: Mapping[str, int]
    end: int


def places_of(planned: PlannedStream, config: HardwareConfig) -> StreamPlaces:
    """The places of results and of tensors that lie within others.

    Memory is reused after a result's last use. Tensors that lie within each other take theirs from
    the first write of any to the last use of any; the host writes before the first call.
    """
    calls = planned.calls
    regions = regions_of(planned.placements, planned.types)
    first = {call.name: number for number, call in enumerate(calls)}
    last = dict(first)
    for number, call in enumerate(calls):
        last |= dict.fromkeys(call.tensors.values(), number)
    last |= dict.fromkeys(planned.results, len(calls))
    live_ranges = list[LiveRange]()
    names = list[Mapping[str, int]]()
    placed = set[str]()
    for name in (*first, *planned.placements):
        if name in placed:
            continue
        members = regions.members(name) if name in regions else {name: 0}
        placed |= members.keys()
        names.append(members)
        size = regions.extent(name) if name in regions else bytes_of(planned.types[name])
        written = [each for each in members if each not in planned.placements]
        begin = min(first.get(each, 0) for each in written)
        end = max(last.get(each, 0) for each in members)
        live_ranges.append(LiveRange(name, size, begin, max(begin, end)))
    plan = plan_memory(live_ranges, dram_alignment(config))
    start = first_address(config)
    addresses = {
        name: start + offset + at
        for offset, members in zip(plan.offsets, names, strict=True)
        for name, at in members.items()
    }
    return StreamPlaces(addresses, start + plan.size)
