"""Timelines in the Trace Event Format: tracks, slices, arrows and a counter.

A cycle is drawn as a microsecond. Compute has a track for each kind of instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tandem.hw.isa import Program, disassemble
from tandem.sim.errors import EngineError
from tandem.sim.events import Event
from tandem.sim.result import Result
from tandem.sim.trace.arrows import arrows
from tandem.sim.trace.busy import busy_records
from tandem.sim.trace.labels import Labels
from tandem.sim.trace.layer_spans import layer_records
from tandem.sim.trace.tracks import (
    PROCESS,
    Slice,
    Track,
    fetch_slices,
    number_of,
    place_slices,
    title_of,
)

_Record = dict[str, Any]


def timeline(result: Result, program: Program, labels: Labels | None = None) -> Iterator[_Record]:
    """The records of the timeline of a run of `program`.

    Raises
    ------
    EngineError
        The result has no events, or its engine has no time, or the labels do not fit the program.
    """
    if not result.events:
        raise EngineError("a timeline needs a run's events: launch with events=True")
    if result.cycles is None:
        raise EngineError(f"a timeline needs cycles: the {result.engine} engine has no time")
    if labels is not None:
        labels.check(len(program))
    return _records(result.events, result.cycles, program, labels)


def _records(
    events: Sequence[Event], cycles: int, program: Program, labels: Labels | None
) -> Iterator[_Record]:
    slices = {item.instruction: item for item in place_slices(events, program)}
    fetched = list(fetch_slices(events))
    numbers = {item.number for item in (*fetched, *slices.values())}
    if labels is not None and labels.layers:
        numbers.add(number_of(Track.LAYERS))
    yield from _titles(numbers)
    if labels is not None:
        yield from layer_records(events, labels, cycles, program.config.macs)
    yield from _slice_records([*fetched, *slices.values()], program, labels)
    yield from arrows(events, slices)
    yield from busy_records(slices.values(), program, cycles)


def _titles(numbers: Iterable[int]) -> Iterator[_Record]:
    ordered = sorted(numbers)
    titles = [("process_name", number, {"name": "tandem"}) for number in ordered[:1]]
    titles += [("thread_name", number, {"name": title_of(number)}) for number in ordered]
    for name, number, args in titles:
        yield {"ph": "M", "pid": PROCESS, "tid": number, "name": name, "args": args}
    for number in ordered:
        yield {
            "ph": "M",
            "pid": PROCESS,
            "tid": number,
            "name": "thread_sort_index",
            "args": {"sort_index": number},
        }


def _slice_records(
    slices: Iterable[Slice], program: Program, labels: Labels | None
) -> Iterator[_Record]:
    text = disassemble(program).splitlines()
    for item in slices:
        at = item.instruction
        words = text[at].split()[1:]
        name = " ".join(words[:2])
        args = {"instruction": at, "text": " ".join(words)}
        layer = None if labels is None else labels.layer(at)
        if labels is not None and layer is not None:
            name = f"{name} {layer}"
            args |= {"layer": layer, "place": labels.places[at]}
        yield {
            "ph": "X",
            "pid": PROCESS,
            "tid": item.number,
            "ts": item.start,
            "dur": item.end - item.start,
            "name": name,
            "cat": title_of(number_of(item.track)) if layer is None else layer,
            "args": args,
        }
