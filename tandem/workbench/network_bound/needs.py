"""What the layers of a stream have to do at least: micro-ops, and bytes of the bus, by tensor.

Micro-ops are those of the layers' kernels without threads that compute the same tile: whatever the
tiles are, there are no fewer. Instructions and kernels of micro-ops are read, too; they are left
out, as their number depends on tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tandem.compiler.machines.accelerator.least_traffic import needed_bytes
from tandem.compiler.machines.accelerator.planned_calls import PlannedCall, template_of
from tandem.compiler.machines.accelerator.templates.lower_bound import alu_cycles, array_cycles
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.timed_streams import WEIGHT, TimedStream
from tandem.compiler.plan.space import Choices
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId

_THREADS = "threads"


@dataclass(frozen=True, slots=True)
class TensorRead:
    """What a layer reads at least of a tensor that is computed, or written by the host.

    Attributes
    ----------
    memory
        Where it is loaded, unless compute loads it itself, into ACC: WGT, as the second factor of a
        product, or INP.
    """

    tensor: str
    size: int
    memory: MemoryId = MemoryId.INP


@dataclass(frozen=True, slots=True)
class LayerNeeds:
    """What a layer has to do at least.

    Attributes
    ----------
    result
        The tensor that it writes.
    array, alu
        Cycles in which the array multiplies or resets, and in which the ALU executes micro-ops.
    weights, parameters
        Bytes of constants, as they are stored: of WGT, and of PAR or ACC.
    reads
        By tensor.
    written
        Bytes of the result.
    copies
        How often an element on chip is stored, at most.
    """

    name: str
    result: str
    array: int
    alu: int
    weights: int
    parameters: int
    reads: tuple[TensorRead, ...]
    written: int
    copies: int = 1

    @property
    def read(self) -> int:
        """Bytes of tensors that it reads, without constants."""
        return sum(each.size for each in self.reads)


@dataclass(frozen=True, slots=True)
class StreamNeeds:
    """What the layers of a stream have to do at least, in their order.

    Attributes
    ----------
    inputs, results
        Tensors that the host writes before the stream, and that it reads after.
    """

    layers: tuple[LayerNeeds, ...]
    inputs: frozenset[str]
    results: frozenset[str]


def stream_needs(stream: TimedStream, config: HardwareConfig) -> StreamNeeds:
    """The needs of a stream's layers on the machine that it was compiled for."""
    layers = tuple(_layer_needs(stream, call, config) for call in stream.calls)
    planned = stream.planned
    return StreamNeeds(layers, frozenset(planned.inputs), frozenset(planned.results))


def _layer_needs(stream: TimedStream, call: PlannedCall, config: HardwareConfig) -> LayerNeeds:
    moved = {name: int(size) for name, size in needed_bytes(stream.stream, call).items()}
    array, alu = _compute(call, config)
    weight = call.named.get(WEIGHT)
    constant = {call.named[operand] for operand in call.plan.arguments.tensors}
    written = moved.pop(call.name)
    weights = moved.get(weight, 0) if weight in constant else 0
    reads = tuple(
        TensorRead(tensor, size, MemoryId.WGT if tensor == weight else MemoryId.INP)
        for tensor, size in moved.items()
        if tensor not in constant
    )
    parameters = sum(moved[tensor] for tensor in constant if tensor != weight)
    read = sum(each.size for each in reads)
    # Without products nothing but copies makes a result larger than its operands.
    copies = 1 if array else max(1, -(-written // max(1, read)))
    return LayerNeeds(
        call.source, call.name, array, alu, weights, parameters, reads, written, copies
    )


def _compute(call: PlannedCall, config: HardwareConfig) -> tuple[int, int]:
    """The fewest cycles of the array and of the ALU."""
    plan = call.plan
    # What does not depend on tiles is the same for all choices, but threads may repeat it, and so
    # may tiles whose windows overlap: tiles of the whole image do not.
    extents: Mapping[str, int] = getattr(plan.workload, "extents", {})
    whole = {name: size for name, size in extents.items() if name in ("y", "x")}
    choice = {name: whole.get(name, value) for name, value in plan.choice.items()}
    choice = {name: 1 if name == _THREADS else value for name, value in choice.items()}
    cost = MachineCost(config).of(plan.workload)
    work = template_of(plan).work_counts(plan.workload, Choices.of([choice]))
    return int(array_cycles(work, cost).item()), int(alu_cycles(work, cost).item())
