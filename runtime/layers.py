"""What each layer of a stream took, from the events of its run.

Compute is what everything waits for in the end: a layer's cycles run from the previous layer's last
completion in compute to its own, so that they sum to the total. Between two instructions of compute
it waits for what the later one's tokens were waiting for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hw.encoding import Opcode
from hw.isa import Program
from hw.topology import MemoryId, Module, TokenQueue
from runtime.artifact.stream import Layer, StreamCode
from sim.result import EventKind, Result

__all__ = ["Cause", "LayerProfile", "StreamRun", "profile_layers"]


class Cause(Enum):
    """What a layer's cycles went to, as seen from compute; the values are for people."""

    GEMM = "products"
    RESET = "resets"
    ALU = "ALU"
    LOAD = "loads by compute"
    """Micro-ops, and accumulators that are loaded: compute does that itself."""
    WAIT_LOAD = "waits for loads"
    WAIT_STORE = "waits for stores"
    OTHER = "start and end"


@dataclass(frozen=True, slots=True)
class LayerProfile:
    """What a layer took.

    Attributes
    ----------
    cycles
        None where the engine has no time.
    causes
        They sum to `cycles`; empty without time.
    loaded, stored
        Bytes.
    instructions
        How many it has.
    multipliers
        Of the array.
    """

    layer: Layer
    cycles: int | None
    causes: Mapping[Cause, int]
    loaded: int
    stored: int
    instructions: int
    multipliers: int

    @property
    def utilization(self) -> float | None:
        """Useful multiply-accumulates by those that there was time for; None without any."""
        if not self.cycles or not self.layer.macs:
            return None
        return self.layer.macs / (self.cycles * self.multipliers)


@dataclass(frozen=True, slots=True)
class StreamRun:
    """What a run of a stream took: as a whole, and layer by layer.

    Attributes
    ----------
    address
        Of the program in memory.
    """

    stream: StreamCode
    program: Program
    address: int
    result: Result
    layers: tuple[LayerProfile, ...]


def profile_layers(
    stream: StreamCode, program: Program, result: Result
) -> tuple[LayerProfile, ...]:
    """The layers in order.

    Parameters
    ----------
    result
        Of a run of the stream; with events, if its engine has time.
    """
    count = len(stream.layers)
    columns = program.columns()
    sizes = np.array([program.config.element_bytes(each) for each in MemoryId], np.int64)
    moved = columns.y_size * columns.x_size * sizes[columns.memory_type]
    loads, stores = columns.opcode == Opcode.LOAD, columns.opcode == Opcode.STORE
    layer_of = stream.layer_of

    def total(of: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
        chosen = of & (layer_of >= 0)
        sums = np.bincount(layer_of[chosen], weights=moved[chosen], minlength=count)
        return [int(each) for each in sums]

    instructions = np.bincount(layer_of[layer_of >= 0], minlength=count).tolist()
    causes = _causes(stream, program, result) if result.cycles is not None else None
    return tuple(
        LayerProfile(
            layer,
            None if causes is None else sum(causes[number].values()),
            {} if causes is None else causes[number],
            total(loads)[number],
            total(stores)[number],
            instructions[number],
            program.config.macs,
        )
        for number, layer in enumerate(stream.layers)
    )


def _causes(stream: StreamCode, program: Program, result: Result) -> list[dict[Cause, int]]:
    kinds = _kinds(program)
    found = [dict.fromkeys(Cause, 0) for _ in stream.layers]
    starts: dict[int, int] = {}
    waits: dict[int, Cause] = {}
    now = 0
    layer = 0
    for event in result.events:
        if event.module is not Module.COMPUTE or event.cycle is None:
            continue
        at = event.instruction
        match event.kind:
            case EventKind.START:
                starts[at] = event.cycle
            case EventKind.POP:
                loaded = event.queue is TokenQueue.LOAD_TO_COMPUTE
                waits[at] = Cause.WAIT_LOAD if loaded else waits.get(at, Cause.WAIT_STORE)
            case EventKind.END:
                own = int(stream.layer_of[at])
                layer = own if own >= 0 else layer
                start = max(starts[at], now)
                found[layer][waits.get(at, Cause.OTHER)] += start - now
                end = max(event.cycle, start)
                found[layer][kinds[at]] += end - start
                now = end
            case EventKind.PUSH | EventKind.FETCH | EventKind.DEAL:
                pass
    assert result.cycles is not None, "asked before"
    if found:
        found[layer][Cause.OTHER] += result.cycles - now
    return found


def _kinds(program: Program) -> list[Cause]:
    """What each instruction of compute is busy with."""
    columns = program.columns()
    kinds = []
    for opcode, reset in zip(columns.opcode.tolist(), columns.reset_reg.tolist(), strict=True):
        match Opcode(opcode):
            case Opcode.GEMM:
                kinds.append(Cause.RESET if reset else Cause.GEMM)
            case Opcode.ALU:
                kinds.append(Cause.ALU)
            case Opcode.LOAD:
                kinds.append(Cause.LOAD)
            case _:
                kinds.append(Cause.OTHER)
    return kinds
