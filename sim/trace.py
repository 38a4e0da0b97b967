"""A run as a timeline that Chrome and Perfetto show: one track a module, arrows for tokens.

A cycle is drawn as a microsecond. Each instruction is a slice from its START to its END. Where a
module works on several at once (a STORE waits for its acknowledgement while the next one runs), it
gets more tracks. An arrow leads from each push to the pop that takes the token: tokens of a queue
are alike, so the k-th pushed is the k-th popped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hw.isa import Module, Program, TokenQueue, disassemble
from sim.errors import EngineError
from sim.result import Event, EventKind, Result

__all__ = ["timeline"]

_PROCESS = 1
_TRACKS = 1000
"""Tracks are numbered module by module, with room for this many each."""

_Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Slice:
    """One instruction on its track, in cycles."""

    instruction: int
    track: int
    start: int
    end: int


def timeline(result: Result, program: Program) -> _Record:
    """The run of `program` in the Trace Event Format, as JSON values.

    Raises
    ------
    EngineError
        The result has no events, or its engine has no time.
    """
    if not result.events:
        raise EngineError("a timeline needs a run's events: launch with events=True")
    if result.cycles is None:
        raise EngineError(f"a timeline needs cycles: the {result.engine} engine has no time")
    slices = {item.instruction: item for item in _slices(result.events)}
    text = disassemble(program).splitlines()
    records = [*_track_names(slices)]
    records += (_slice_record(item, text[item.instruction]) for item in slices.values())
    records += _arrows(result.events, slices)
    other = {"engine": result.engine, "cycles": result.cycles, "unit": "1 us is 1 cycle"}
    return {"traceEvents": records, "displayTimeUnit": "ns", "otherData": other}


def _slices(events: tuple[Event, ...]) -> Iterator[_Slice]:
    """Each finished instruction, on the first track of its module that is free."""
    starts = {event.instruction: _cycle(event) for event in events if event.kind is EventKind.START}
    free: dict[Module, list[int]] = defaultdict(list)
    finished = [event for event in events if event.kind is EventKind.END]
    finished.sort(key=lambda event: starts[event.instruction])
    for event in finished:
        start, end = starts[event.instruction], _cycle(event)
        lanes = free[event.module]
        lane = next((lane for lane, until in enumerate(lanes) if until <= start), len(lanes))
        # Nothing is drawn without a width.
        end = max(end, start + 1)
        lanes[lane : lane + 1] = [end]
        yield _Slice(event.instruction, _TRACKS * event.module + lane, start, end)


def _track_names(slices: dict[int, _Slice]) -> Iterator[_Record]:
    yield _meta("process_name", 0, {"name": "tandem"})
    for track in sorted({item.track for item in slices.values()}):
        name, lane = Module(track // _TRACKS).name.lower(), track % _TRACKS
        label = f"{name} ({lane + 1})" if lane else name
        yield _meta("thread_name", track, {"name": label})
        yield _meta("thread_sort_index", track, {"sort_index": track})


def _meta(name: str, track: int, args: _Record) -> _Record:
    return {"ph": "M", "pid": _PROCESS, "tid": track, "name": name, "args": args}


def _slice_record(item: _Slice, line: str) -> _Record:
    _, *words = line.split()
    return {
        "ph": "X",
        "pid": _PROCESS,
        "tid": item.track,
        "ts": item.start,
        "dur": item.end - item.start,
        "name": " ".join(words[:2]),
        "args": {"instruction": item.instruction, "text": " ".join(words)},
    }


def _arrows(events: tuple[Event, ...], slices: dict[int, _Slice]) -> Iterator[_Record]:
    pushes: dict[TokenQueue, list[Event]] = defaultdict(list)
    pops: dict[TokenQueue, list[Event]] = defaultdict(list)
    for event in events:
        if event.queue is not None:
            (pushes if event.kind is EventKind.PUSH else pops)[event.queue].append(event)
    number = 0
    for queue in TokenQueue:
        for push, pop in zip(pushes[queue], pops[queue], strict=False):
            if push.instruction not in slices or pop.instruction not in slices:
                continue
            number += 1
            giver, taker = slices[push.instruction], slices[pop.instruction]
            common = {"pid": _PROCESS, "cat": "token", "name": str(queue), "id": number}
            # An arrow belongs to the slice that encloses its end: half a cycle before its last.
            yield {**common, "ph": "s", "tid": giver.track, "ts": giver.end - 0.5}
            yield {**common, "ph": "f", "bp": "e", "tid": taker.track, "ts": taker.start}


def _cycle(event: Event) -> int:
    assert event.cycle is not None, "an engine with cycles stamps its events"
    return event.cycle
