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
from sim.events import KINDS, EventKind, EventTable, Ints
from sim.result import Result


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
    assert result.cycles is not None, "checked by the caller"
    causes, layers = tuple(Cause), len(stream.layers)
    if not layers:
        return []
    ended = _compute_events(result.events, EventKind.END)
    begun = _compute_events(result.events, EventKind.START)
    at = result.events.instruction[ended]
    starts = np.zeros(len(program), np.int64)
    starts[result.events.instruction[begun]] = result.events.cycle[begun]
    # Compute is done with an instruction when it and all before it have ended.
    before = np.concatenate(([0], np.maximum.accumulate(result.events.cycle[ended])))
    start = np.maximum(starts[at], before[:-1])
    own = np.maximum(stream.layer_of[at], -1)
    # An instruction without a layer belongs to that of the instruction before it.
    last = np.maximum.accumulate(np.where(own >= 0, np.arange(len(own)), -1))
    layer = np.where(last >= 0, own[last], 0)
    spent = np.zeros((layers, len(causes)), np.int64)
    np.add.at(spent, (layer, _waits(program, result.events)[at]), start - before[:-1])
    np.add.at(spent, (layer, _kinds(program)[at]), before[1:] - start)
    spent[layer[-1] if len(layer) else 0, _NUMBERS[Cause.OTHER]] += result.cycles - before[-1]
    return [dict(zip(causes, row, strict=True)) for row in spent.tolist()]


_NUMBERS = {cause: number for number, cause in enumerate(Cause)}
_KINDS = {Opcode.GEMM: Cause.GEMM, Opcode.ALU: Cause.ALU, Opcode.LOAD: Cause.LOAD}


def _compute_events(events: EventTable, kind: EventKind) -> Ints:
    """Indices of the events of this kind in compute."""
    return np.flatnonzero((events.unit == Unit.COMPUTE) & (events.kind == KINDS.index(kind)))


def _waits(program: Program, events: EventTable) -> Ints:
    """For each instruction, the number of the cause of compute's idle cycles before it."""
    found = np.full(len(program), _NUMBERS[Cause.OTHER])
    pops = _compute_events(events, EventKind.POP)
    loaded = events.queue[pops] == TokenQueue.LOAD_TO_COMPUTE
    found[events.instruction[pops[~loaded]]] = _NUMBERS[Cause.WAIT_STORE]
    found[events.instruction[pops[loaded]]] = _NUMBERS[Cause.WAIT_LOAD]
    return found


def _kinds(program: Program) -> Ints:
    """For each instruction, the number of the cause of its busy cycles in compute."""
    columns = program.columns()
    found = np.full(len(program), _NUMBERS[Cause.OTHER])
    for opcode, cause in _KINDS.items():
        found[columns.opcode == opcode] = _NUMBERS[cause]
    found[(columns.opcode == Opcode.GEMM) & (columns.reset_reg == 1)] = _NUMBERS[Cause.RESET]
    return found
