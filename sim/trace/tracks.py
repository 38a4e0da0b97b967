"""The slices of a timeline: the track and the cycles of each instruction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tandem.hw.encoding import Opcode
from tandem.hw.isa import Program, Unit
from tandem.sim.events import Event, EventKind

PROCESS = 1
_LANES = 1000
"""Track numbers reserved for each kind of track. No track is 0, Perfetto's idle thread, or has the
number of the process, Perfetto's main thread."""


class Track(IntEnum):
    """The kinds of tracks, in the order in which they are shown."""

    LAYERS = 1
    FETCH = 2
    LOAD = 3
    COMPUTE_LOADS = 4
    """Loads of micro-ops and accumulators, which compute executes itself."""
    GEMM = 5
    ALU = 6
    REQUANTISE = 7
    FINISH = 8
    STORE = 9


_TITLES = {
    Track.LAYERS: "layers",
    Track.FETCH: "fetch",
    Track.LOAD: "load",
    Track.COMPUTE_LOADS: "compute: loads",
    Track.GEMM: "compute: GEMM",
    Track.ALU: "compute: ALU",
    Track.REQUANTISE: "compute: requantise",
    Track.FINISH: "compute: finish",
    Track.STORE: "store",
}
_COMPUTE = {
    Opcode.LOAD: Track.COMPUTE_LOADS,
    Opcode.GEMM: Track.GEMM,
    Opcode.ALU: Track.ALU,
    Opcode.REQUANTISE: Track.REQUANTISE,
    Opcode.FINISH: Track.FINISH,
}


@dataclass(frozen=True, slots=True)
class Slice:
    """An instruction on its track, in cycles.

    Attributes
    ----------
    track
        The kind of track.
    number
        The number of the track in the file.
    """

    instruction: int
    track: Track
    number: int
    start: int
    end: int


def number_of(track: Track, lane: int = 0) -> int:
    """The number, in the file, of a lane of a kind of track."""
    return _LANES * track + lane


def title_of(number: int) -> str:
    """The title of the track with this number."""
    track, lane = divmod(number, _LANES)
    return _TITLES[Track(track)] + (f" ({lane + 1})" if lane else "")


def place_slices(events: Sequence[Event], program: Program) -> Iterator[Slice]:
    """The slices of finished instructions, by start, each on the first free lane of its track.

    A track has several lanes where a unit overlaps instructions: while a STORE waits for its
    acknowledgement, or the results of a GEMM are in the pipeline, the next one runs.
    """
    opcodes = program.columns().opcode.tolist()
    starts = {
        event.instruction: cycle_of(event) for event in events if event.kind is EventKind.START
    }
    finished = [event for event in events if event.kind is EventKind.END]
    finished.sort(key=lambda event: starts[event.instruction])
    free: dict[Track, list[int]] = defaultdict(list)
    for event in finished:
        track = _track(event.unit, opcodes[event.instruction])
        start = starts[event.instruction]
        # Slices without a width are invisible.
        end = max(cycle_of(event), start + 1)
        lanes = free[track]
        lane = next((lane for lane, until in enumerate(lanes) if until <= start), len(lanes))
        lanes[lane : lane + 1] = [end]
        yield Slice(event.instruction, track, number_of(track, lane), start, end)


def fetch_slices(events: Sequence[Event]) -> Iterator[Slice]:
    """The slices of fetch: each instruction from its arrival at dispatch to its dispatch.

    A slice is long while the unit's queue was full. Between slices, fetch waited for memory.
    """
    number = number_of(Track.FETCH)
    fetched: dict[int, int] = {}
    for event in events:
        if event.kind is EventKind.FETCH:
            fetched[event.instruction] = cycle_of(event)
        elif event.kind is EventKind.DISPATCH:
            at = event.instruction
            yield Slice(at, Track.FETCH, number, fetched[at], cycle_of(event) + 1)


def _track(unit: Unit, opcode: int) -> Track:
    match unit:
        case Unit.LOAD:
            return Track.LOAD
        case Unit.COMPUTE:
            return _COMPUTE[Opcode(opcode)]
        case Unit.STORE:
            return Track.STORE


def cycle_of(event: Event) -> int:
    """The cycle of an event from an engine with time."""
    assert event.cycle is not None, "an engine with cycles stamps its events"
    return event.cycle
