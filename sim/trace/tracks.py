"""Which track an instruction is drawn on, from when to when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from hw.encoding import Opcode
from hw.isa import Module, Program
from sim.result import Event, EventKind

__all__ = [
    "PROCESS",
    "Slice",
    "Track",
    "cycle_of",
    "fetch_slices",
    "number_of",
    "place_slices",
    "title_of",
]

PROCESS = 1
_LANES = 1000
"""Tracks are numbered kind by kind; a kind has at most so many. None is 0, which Perfetto keeps for
the idle thread, and none is the number of the process, which it takes for the main thread."""


class Track(IntEnum):
    """The kinds of tracks, in the order in which they are shown."""

    LAYERS = 1
    FETCH = 2
    LOAD = 3
    COMPUTE_LOADS = 4
    """Of micro-ops and accumulators: compute loads these itself."""
    GEMM = 5
    ALU = 6
    FINISH = 7
    STORE = 8


_TITLES = {
    Track.LAYERS: "layers",
    Track.FETCH: "fetch",
    Track.LOAD: "load",
    Track.COMPUTE_LOADS: "compute: loads",
    Track.GEMM: "compute: GEMM",
    Track.ALU: "compute: ALU",
    Track.FINISH: "compute: finish",
    Track.STORE: "store",
}
_COMPUTE = {
    Opcode.LOAD: Track.COMPUTE_LOADS,
    Opcode.GEMM: Track.GEMM,
    Opcode.ALU: Track.ALU,
    Opcode.FINISH: Track.FINISH,
}


@dataclass(frozen=True, slots=True)
class Slice:
    """One instruction on its track, in cycles.

    Attributes
    ----------
    number
        Of the track in the file.
    """

    instruction: int
    track: Track
    number: int
    start: int
    end: int


def number_of(track: Track, lane: int = 0) -> int:
    """What the file calls a lane of a kind of track."""
    return _LANES * track + lane


def title_of(number: int) -> str:
    """What people call it."""
    track, lane = divmod(number, _LANES)
    return _TITLES[Track(track)] + (f" ({lane + 1})" if lane else "")


def place_slices(events: tuple[Event, ...], program: Program) -> Iterator[Slice]:
    """Each finished instruction, in the order of their starts, on its kind's first free track.

    Where a module works on several at once, a kind has more than one: a STORE waits for its
    acknowledgement, and the results of a GEMM are on their way, while the next one runs.
    """
    opcodes = program.columns().opcode.tolist()
    starts = {
        event.instruction: cycle_of(event) for event in events if event.kind is EventKind.START
    }
    finished = [event for event in events if event.kind is EventKind.END]
    finished.sort(key=lambda event: starts[event.instruction])
    free: dict[Track, list[int]] = defaultdict(list)
    for event in finished:
        track = _track(event.module, opcodes[event.instruction])
        start = starts[event.instruction]
        # Nothing is drawn without a width.
        end = max(cycle_of(event), start + 1)
        lanes = free[track]
        lane = next((lane for lane, until in enumerate(lanes) if until <= start), len(lanes))
        lanes[lane : lane + 1] = [end]
        yield Slice(event.instruction, track, number_of(track, lane), start, end)


def fetch_slices(events: tuple[Event, ...]) -> Iterator[Slice]:
    """Each instruction from its arrival to its dispatch: long where its unit's queue was full.

    In the gaps there was no instruction, because memory had not delivered one.
    """
    number = number_of(Track.FETCH)
    came: dict[int, int] = {}
    for event in events:
        if event.kind is EventKind.FETCH:
            came[event.instruction] = cycle_of(event)
        elif event.kind is EventKind.DEAL:
            at = event.instruction
            yield Slice(at, Track.FETCH, number, came[at], cycle_of(event) + 1)


def _track(module: Module, opcode: int) -> Track:
    match module:
        case Module.LOAD:
            return Track.LOAD
        case Module.COMPUTE:
            return _COMPUTE[Opcode(opcode)]
        case Module.STORE:
            return Track.STORE


def cycle_of(event: Event) -> int:
    """When it happened: asked only of engines with time."""
    assert event.cycle is not None, "an engine with cycles stamps its events"
    return event.cycle
