"""The profile of each layer of a stream, from the events of its run.

Cycles are attributed to layers as seen from compute: a layer's cycles run from the previous layer's
last completion in compute to its own, so that they sum to the total. Idle cycles of compute before
an instruction are waits for the tokens of that instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hw.encoding import Opcode
from hw.isa import Program
from hw.topology import MemoryId, TokenQueue, Unit
from runtime.artifact.stream import Layer, StreamCode
from sim.result import EventKind, Result


class Cause(Enum):
    """What compute spent a layer's cycles on; values are labels for display."""

    GEMM = "products"
    RESET = "resets"
    ALU = "ALU"
    LOAD = "loads by compute"
    """Loads of micro-ops and accumulators, which compute executes itself."""
    WAIT_LOAD = "waits for loads"
    WAIT_STORE = "waits for stores"
    OTHER = "start and end"


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
        """Useful multiply-accumulates / (cycles x multipliers); None without cycles or work."""
        if not self.cycles or not self.layer.macs:
            return None
        return self.layer.macs / (self.cycles * self.multipliers)


@dataclass(frozen=True, slots=True)
class StreamRun:
    """A run of a stream, as a whole and layer by layer.

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
    sizes = np.array([program.config.element_bytes(each) for each in MemoryId], np.int64)
    moved = columns.y_size * columns.x_size * sizes[columns.memory_type]
    loads, stores = columns.opcode == Opcode.LOAD, columns.opcode == Opcode.STORE
    layer_of = stream.layer_of

    def bytes_of(kind: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
        chosen = kind & (layer_of >= 0)
        sums = np.bincount(layer_of[chosen], weights=moved[chosen], minlength=count)
        return [int(size) for size in sums]

    loaded, stored = bytes_of(loads), bytes_of(stores)

    instructions = np.bincount(layer_of[layer_of >= 0], minlength=count).tolist()
    causes = _causes(stream, program, result) if result.cycles is not None else None
    return tuple(
        LayerProfile(
            layer,
            None if causes is None else sum(causes[number].values()),
            {} if causes is None else causes[number],
            loaded[number],
            stored[number],
            instructions[number],
            program.config.macs,
        )
        for number, layer in enumerate(stream.layers)
    )


def _causes(stream: StreamCode, program: Program, result: Result) -> list[dict[Cause, int]]:
    """For each layer, its cycles by cause."""
    kinds = _kinds(program)
    found = [dict.fromkeys(Cause, 0) for _ in stream.layers]
    starts: dict[int, int] = {}
    waits: dict[int, Cause] = {}
    now = 0
    layer = 0
    for event in result.events:
        if event.unit is not Unit.COMPUTE or event.cycle is None:
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
            case EventKind.PUSH | EventKind.FETCH | EventKind.DISPATCH:
                pass
    assert result.cycles is not None, "checked by the caller"
    if found:
        found[layer][Cause.OTHER] += result.cycles - now
    return found


def _kinds(program: Program) -> list[Cause]:
    """For each instruction, the cause of its busy cycles in compute."""
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
