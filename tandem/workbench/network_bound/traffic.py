"""What crosses the bus for each layer at least, by what schedules may keep on chip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tandem.hw.topology import MemoryId
from tandem.workbench.network_bound.needs import LayerNeeds, StreamNeeds
from tandem.workbench.network_bound.on_chip import OnChipBytes


class Schedules(Enum):
    """A class of schedules, for which a bound holds. All have the operators of these kernels, with
    tensors in the same layouts; of what is narrower, the bound is higher."""

    THROUGH_DRAM = "layers one after another, each tensor through DRAM"
    """As the templates of this compiler, with any tiles."""
    KEPT = "layers one after another, tensors kept on chip where they fit"
    ANY = "the same micro-ops in any order, across layers too"


@dataclass(frozen=True, slots=True)
class EarlyRead:
    """Bytes that may be loaded before their layer begins.

    Attributes
    ----------
    since
        The number of the layer, from 1, that writes them; 0 if they are there from the start.
    memory
        Where they lie until they are used.
    """

    since: int
    size: int
    memory: MemoryId


@dataclass(frozen=True, slots=True)
class LayerTraffic:
    """What a layer needs of the machine at least.

    Attributes
    ----------
    compute
        Cycles of array and ALU.
    early
        What may be loaded before the layer begins.
    late
        Bytes that are loaded while it runs.
    written
        Bytes of results.
    """

    compute: int
    early: tuple[EarlyRead, ...]
    late: int
    written: int


@dataclass(frozen=True, slots=True)
class BetweenLayers:
    """The bytes of a layer's tensors beside constants.

    Attributes
    ----------
    fresh
        Read from inputs for the first time.
    again
        Read from what another layer has written or read.
    spilled
        What of `again` cannot have stayed on chip since the layer before.
    output, kept
        Written for the host; or for layers alone.
    evicted
        What of `kept` cannot stay on chip until the next layer.
    """

    fresh: int
    again: int
    spilled: int
    output: int
    kept: int
    evicted: int


def between_layers(stream: StreamNeeds, chip: OnChipBytes) -> tuple[BetweenLayers, ...]:
    """The tensors of each layer: what has to be moved, and what could stay on chip."""
    seen, found = set[str](), list[BetweenLayers]()
    needed = dict[str, int]()
    for layer in stream.layers:
        for read in layer.reads:
            needed[read.tensor] = max(read.size, needed.get(read.tensor, 0))
    for layer in stream.layers:
        fresh = sum(
            read.size
            for read in layer.reads
            if read.tensor in stream.inputs and read.tensor not in seen
        )
        seen |= {read.tensor for read in layer.reads}
        again = layer.read - fresh
        output = layer.written if layer.result in stream.results else 0
        kept = layer.written - output
        evicted = max(0, needed.get(layer.result, 0) - chip.everything) if kept else 0
        spilled = max(0, again - chip.everything)
        found.append(BetweenLayers(fresh, again, spilled, output, kept, evicted))
    return tuple(found)


def traffic(
    stream: StreamNeeds, chip: OnChipBytes, schedules: Schedules
) -> tuple[LayerTraffic, ...]:
    """What the layers need by a class of schedules; of `ANY` order all are one."""
    if schedules is Schedules.THROUGH_DRAM:
        return tuple(_through_dram(stream))
    parts = [
        _kept(layer, part, spills=schedules is Schedules.KEPT)
        for layer, part in zip(stream.layers, between_layers(stream, chip), strict=True)
    ]
    if schedules is Schedules.KEPT:
        return tuple(parts)
    whole = LayerTraffic(
        sum(part.compute for part in parts),
        tuple(early for part in parts for early in part.early),
        sum(part.late for part in parts),
        sum(part.written for part in parts),
    )
    return (whole,)


def _through_dram(stream: StreamNeeds) -> Iterator[LayerTraffic]:
    writer = {layer.result: number for number, layer in enumerate(stream.layers, 1)}
    for layer in stream.layers:
        constants = (
            EarlyRead(0, layer.weights, MemoryId.WGT),
            EarlyRead(0, layer.parameters, MemoryId.PAR),
        )
        # A tensor without a writer lies within others: it may be there from the start.
        tensors = (
            EarlyRead(writer.get(read.tensor, 0), read.size, read.memory) for read in layer.reads
        )
        compute = layer.array + layer.alu
        yield LayerTraffic(compute, (*constants, *tensors), 0, layer.written)


def _kept(layer: LayerNeeds, part: BetweenLayers, *, spills: bool) -> LayerTraffic:
    """A layer whose operands may be anywhere on chip, which is one memory then."""
    constants = layer.weights + layer.parameters + part.fresh
    early = EarlyRead(0, constants, MemoryId.INP)
    spilled, evicted = (part.spilled, part.evicted) if spills else (0, 0)
    return LayerTraffic(layer.array + layer.alu, (early,), spilled, part.output + evicted)
