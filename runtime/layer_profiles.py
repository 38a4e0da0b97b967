"""The profile of each layer of a stream, from the events of its run.

Cycles are attributed to layers as seen from compute (`sim.why.causes`): a layer's cycles run from
the previous layer's last completion in compute to its own, so that they sum to the total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from msgspec.structs import replace as replace_fields

from tandem.hw.encoding import Opcode
from tandem.hw.isa import Program
from tandem.hw.isa.element_sizes import element_sizes
from tandem.hw.topology import MemoryId
from tandem.runtime.artifact.stream import Layer, StreamCode
from tandem.sim.result import Result
from tandem.sim.why.causes import Cause, layer_causes
from tandem.sim.why.times import RunTimes

_WEIGHTS = (MemoryId.WGT, MemoryId.WGT_CODES)


@dataclass(frozen=True, slots=True)
class LayerProfile:
    """The profile of a layer.

    Attributes
    ----------
    cycles
        Cycles of the layer; None from an engine without time.
    causes
        Cycles by cause, which sum to `cycles`; empty without time.
    loaded, stored
        Bytes from and to DRAM.
    instructions
        Number of instructions.
    multipliers
        Number of multipliers of the array.
    weights
        Bytes of weights, in `loaded`: as int8 or as codes with their scales.
    """

    layer: Layer
    cycles: int | None
    causes: Mapping[Cause, int]
    loaded: int
    stored: int
    instructions: int
    multipliers: int
    weights: int = 0

    @property
    def utilization(self) -> float | None:
        """Useful multiply-accumulates / (cycles x multipliers); None without cycles or work."""
        if not self.cycles or not self.layer.macs:
            return None
        return self.layer.macs / (self.cycles * self.multipliers)

    def with_later(self, later: LayerProfile) -> LayerProfile:
        """This run and a later one as one: cycles, bytes and instructions summed."""
        first, second = self.layer, later.layer
        return LayerProfile(
            replace_fields(
                first,
                macs=first.macs + second.macs,
                least_bytes=first.least_bytes + second.least_bytes,
            ),
            _sum(self.cycles, later.cycles),
            {cause: cycles + later.causes[cause] for cause, cycles in self.causes.items()},
            self.loaded + later.loaded,
            self.stored + later.stored,
            self.instructions + later.instructions,
            self.multipliers,
            self.weights + later.weights,
        )


@dataclass(frozen=True, slots=True)
class StreamRun:
    """One or more runs of a stream, as a whole and layer by layer; the events are the first run's.

    Attributes
    ----------
    address
        Address of the program in memory.
    """

    stream: StreamCode
    program: Program
    address: int
    result: Result
    layers: tuple[LayerProfile, ...]

    @property
    def cycles(self) -> int | None:
        """Cycles of the runs; None from an engine without time."""
        return self.result.cycles

    def with_later(self, later: StreamRun) -> StreamRun:
        result = replace(
            self.result,
            cycles=_sum(self.cycles, later.cycles),
            seconds=self.result.seconds + later.result.seconds,
        )
        pairs = zip(self.layers, later.layers, strict=True)
        layers = tuple(first.with_later(second) for first, second in pairs)
        return replace(self, result=result, layers=layers)


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def profile_layers(
    stream: StreamCode, program: Program, result: Result
) -> tuple[LayerProfile, ...]:
    """The profiles of the layers, in order.

    Parameters
    ----------
    result
        The result of a run of the stream; with events, if its engine has time.
    """
    count = len(stream.layers)
    columns = program.columns()
    moved = columns.y_size * columns.x_size * element_sizes(program.config, columns)
    loads, stores = columns.opcode == Opcode.LOAD, columns.opcode == Opcode.STORE
    layer_of = stream.layer_of

    def bytes_of(kind: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
        chosen = kind & (layer_of >= 0)
        sums = np.bincount(layer_of[chosen], weights=moved[chosen], minlength=count)
        return [int(size) for size in sums]

    loaded, stored = bytes_of(loads), bytes_of(stores)
    weights = bytes_of(loads & np.isin(columns.memory_type, _WEIGHTS))
    instructions = np.bincount(layer_of[layer_of >= 0], minlength=count).tolist()
    causes = None
    if result.cycles is not None:
        times = RunTimes.of(program, result)
        causes = layer_causes(program, times, layer_of.tolist(), count)
    return tuple(
        LayerProfile(
            layer,
            None if causes is None else sum(causes[number].values()),
            {} if causes is None else causes[number],
            loaded[number],
            stored[number],
            instructions[number],
            program.config.macs,
            weights[number],
        )
        for number, layer in enumerate(stream.layers)
    )
