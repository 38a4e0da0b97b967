"""A network's exact cycles beside the least that its layers need of each part of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tandem.compiler.graph.nodes import Function
from tandem.compiler.machines.accelerator.timed_streams import simplified, timed_streams
from tandem.compiler.machines.cpu.runner import exact_runner
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import MemoryId
from tandem.sim.engines import make_engine
from tandem.workbench.devices import Accelerator
from tandem.workbench.errors import UntimedError
from tandem.workbench.network_bound.in_order import Held, bus_cycles, least_cycles
from tandem.workbench.network_bound.needs import StreamNeeds, stream_needs
from tandem.workbench.network_bound.on_chip import OnChipBytes
from tandem.workbench.network_bound.traffic import Schedules, between_layers, traffic
from tandem.workbench.search.measure import stream_cycles


class Resource(Enum):
    """What layers need; of the bus, a direction or a part of it."""

    ARRAY = "array"
    ALU = "ALU"
    COMPUTE = "array and ALU, one pipeline"
    READS = "reads"
    READ_WEIGHTS = "weights, as they are stored"
    READ_PARAMETERS = "parameters"
    READ_INPUTS = "what the host wrote"
    READ_BETWEEN = "what other layers wrote or read"
    READ_SPILLED = "what cannot have stayed on chip"
    WRITES = "writes"
    WRITTEN_OUTPUTS = "for the host"
    WRITTEN_BETWEEN = "for other layers"
    WRITTEN_SPILLED = "what cannot stay on chip"

    @property
    def depth(self) -> int:
        """Of how many other resources it is a part."""
        if self in (Resource.READ_SPILLED, Resource.WRITTEN_SPILLED):
            return 2
        return int("_" in self.name)


@dataclass(frozen=True, slots=True)
class Least:
    """The least that a network needs of a resource: cycles, and of the bus bytes."""

    cycles: int
    size: int | None = None


@dataclass(frozen=True, slots=True)
class NetworkBound:
    """A network's exact cycles, and what they cannot go below.

    Attributes
    ----------
    streams
        Number of instruction streams, between which the host computes; cycles and bounds are sums
        over them.
    bounds
        The least cycles, by the class of schedules that they hold for.
    """

    cycles: int
    streams: int
    resources: Mapping[Resource, Least]
    bounds: Mapping[Schedules, int]

    def gap(self, schedules: Schedules) -> float:
        """How far the exact cycles are above a bound, as a part of the bound."""
        return self.cycles / self.bounds[schedules] - 1

    def share(self, resource: Resource) -> float:
        """The part of the exact cycles in which a resource is needed."""
        return self.resources[resource].cycles / self.cycles

    def as_json(self) -> dict[str, object]:
        """The command's JSON."""
        return {
            "cycles": self.cycles,
            "bound": self.bounds[Schedules.THROUGH_DRAM],
            "gap": self.gap(Schedules.THROUGH_DRAM),
            "streams": self.streams,
            "resources": [
                {
                    "resource": resource.name.lower(),
                    "bytes": least.size,
                    "cycles": least.cycles,
                    "share": self.share(resource),
                }
                for resource, least in self.resources.items()
            ],
            "bounds": [
                {
                    "schedules": schedules.name.lower(),
                    "cycles": cycles,
                    "gap": self.gap(schedules),
                }
                for schedules, cycles in self.bounds.items()
            ],
        }


def network_bound(function: Function, device: Accelerator) -> NetworkBound:
    """The bound of a prepared network as it is compiled for a device, and its exact cycles, which
    need no data.

    Raises
    ------
    UntimedError
        The accelerator computes nothing of the network.
    CompilerError, SimulationError
        The network cannot be compiled, or its time not be told.
    """
    streams = timed_streams(simplified(function, exact_runner()), device.target())
    if not streams:
        raise UntimedError(f"{device.name} computes no layer of the network: it has no bound")
    engine = make_engine("cycle", device.config, device.memory)
    try:
        cycles = sum(stream_cycles(engine, device.config, stream) for stream in streams)
    finally:
        engine.close()
    needs = [stream_needs(stream, device.config) for stream in streams]
    found = {each: bound(needs, each, device.config, device.memory) for each in Schedules}
    return NetworkBound(cycles, len(streams), resources(needs, device.config, device.memory), found)


def bound(
    streams: Iterable[StreamNeeds],
    schedules: Schedules,
    config: HardwareConfig,
    memory: MemoryModel,
) -> int:
    """Cycles that no schedules of a class go below: a sum over streams, as each is launched when
    the one before is done."""
    chip = OnChipBytes.of(config)
    total = 0
    for stream in streams:
        # Of a result that is copied, what is on chip is stored as often.
        results = chip.results * max((layer.copies for layer in stream.layers), default=1)
        held = Held(chip.operands, chip.buffered, results)
        if schedules is not Schedules.THROUGH_DRAM:
            held = Held({MemoryId.INP: chip.everything}, 0, max(chip.everything, results))
        total += least_cycles(traffic(stream, chip, schedules), held, config, memory)
    return total


def resources(
    streams: Sequence[StreamNeeds], config: HardwareConfig, memory: MemoryModel
) -> dict[Resource, Least]:
    """The least of each resource, if each tensor goes through DRAM; and of tensors between layers
    what cannot stay on chip, if layers are computed one after another."""
    chip = OnChipBytes.of(config)
    layers = [layer for stream in streams for layer in stream.layers]
    parts = [part for stream in streams for part in between_layers(stream, chip)]
    array, alu = sum(layer.array for layer in layers), sum(layer.alu for layer in layers)
    weights = sum(layer.weights for layer in layers)
    parameters = sum(layer.parameters for layer in layers)
    moved = {
        Resource.READS: weights + parameters + sum(layer.read for layer in layers),
        Resource.READ_WEIGHTS: weights,
        Resource.READ_PARAMETERS: parameters,
        Resource.READ_INPUTS: sum(part.fresh for part in parts),
        Resource.READ_BETWEEN: sum(part.again for part in parts),
        Resource.READ_SPILLED: sum(part.spilled for part in parts),
        Resource.WRITES: sum(layer.written for layer in layers),
        Resource.WRITTEN_OUTPUTS: sum(part.output for part in parts),
        Resource.WRITTEN_BETWEEN: sum(part.kept for part in parts),
        Resource.WRITTEN_SPILLED: sum(part.evicted for part in parts),
    }
    return {
        Resource.ARRAY: Least(array),
        Resource.ALU: Least(alu),
        Resource.COMPUTE: Least(array + alu),
        **{each: Least(bus_cycles(size, config, memory), size) for each, size in moved.items()},
    }
