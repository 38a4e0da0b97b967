"""Event records of a run, from the times of its instructions."""

from __future__ import annotations

from hw.isa import TokenQueue, Unit
from sim.cycle.state import DISPATCH, END, FETCHED, START, Run
from sim.result import Event, EventKind

_TOKENS = (EventKind.POP, EventKind.POP, EventKind.PUSH, EventKind.PUSH)
_INSTRUCTIONS = (
    (EventKind.FETCH, FETCHED, -2),
    (EventKind.DISPATCH, DISPATCH, -1),
    (EventKind.START, START, 2),
    (EventKind.END, END, 3),
)
"""Kinds of events, their times, and their places among an instruction's events of one cycle."""
_PLACES = (0, 1, 4, 5)


def events_of(run: Run) -> tuple[Event, ...]:
    """The events, ordered by cycle, unit and instruction; pops come before the start, pushes after
    the end."""
    units = [Unit(number) for number in run.units.tolist()]
    rows: list[tuple[int, Unit, int, int, EventKind, TokenQueue | None]] = []
    for kind, time, place in _INSTRUCTIONS:
        for instruction, cycle in enumerate(run.times[time].tolist()):
            rows.append((cycle, units[instruction], instruction, place, kind, None))
    starts, ends = run.times[START].tolist(), run.times[END].tolist()
    for instruction, queues in enumerate(run.queues.tolist()):
        for side, queue in enumerate(queues):
            if queue < len(TokenQueue):
                cycle = (starts if side < 2 else ends)[instruction]
                place, kind = _PLACES[side], _TOKENS[side]
                unit = units[instruction]
                rows.append((cycle, unit, instruction, place, kind, TokenQueue(queue)))
    rows.sort(key=lambda row: row[:4])
    return tuple(
        Event(cycle, unit, instruction, kind, queue)
        for cycle, unit, instruction, _, kind, queue in rows
    )
