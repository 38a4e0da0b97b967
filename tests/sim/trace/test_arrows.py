"""Arrows of tokens between slices, by hand."""

from __future__ import annotations

from typing import Any

from tandem.hw.isa import TokenQueue, Unit
from tandem.sim.events import Event, EventKind
from tandem.sim.trace.arrows import arrows
from tandem.sim.trace.tracks import PROCESS, Slice, Track

L2C, C2L, _, _ = TokenQueue
FIRST, SECOND = list(Track)[:2]
SLICES = {
    0: Slice(0, FIRST, 7, 10, 20),
    1: Slice(1, SECOND, 9, 15, 30),
    2: Slice(2, FIRST, 7, 20, 21),
    3: Slice(3, SECOND, 9, 40, 50),
}


def moved(kind: EventKind, instruction: int, queue: TokenQueue = L2C) -> Event:
    return Event(0, Unit.LOAD, instruction, kind, queue)


def push(instruction: int, queue: TokenQueue = L2C) -> Event:
    return moved(EventKind.PUSH, instruction, queue)


def pop(instruction: int, queue: TokenQueue = L2C) -> Event:
    return moved(EventKind.POP, instruction, queue)


def ends(found: list[dict[str, Any]]) -> list[tuple[str, int, float, int]]:
    return [(each["ph"], each["tid"], each["ts"], each["id"]) for each in found]


def test_an_arrow() -> None:
    start = Event(20, Unit.LOAD, 0, EventKind.START)
    first, last = arrows([start, push(0), pop(3)], SLICES)
    common = {"cat": "token", "name": "load->compute", "id": 1, "pid": PROCESS}
    assert first == {"ph": "s", "tid": 7, "ts": 19.5, **common}
    assert last == {"ph": "f", "bp": "e", "tid": 9, "ts": 40, **common}


def test_an_arrow_begins_within_its_slice() -> None:
    # Not behind the begin of the consumer, nor before that of the producer.
    assert ends([*arrows([push(0), pop(1)], SLICES)]) == [("s", 7, 15, 1), ("f", 9, 15, 1)]
    assert ends([*arrows([push(2), pop(1)], SLICES)]) == [("s", 7, 20, 1), ("f", 9, 15, 1)]


def test_the_first_token_pushed_is_the_first_popped_of_each_queue() -> None:
    events = [push(0), push(1, C2L), push(2), pop(2, C2L), pop(1), pop(3), push(0)]
    found = ends([*arrows(events, SLICES)])
    assert found == [
        *(("s", 7, 15, 1), ("f", 9, 15, 1)),
        *(("s", 7, 20.5, 2), ("f", 9, 40, 2)),
        *(("s", 9, 20, 3), ("f", 7, 20, 3)),
    ]


def test_tokens_of_instructions_that_are_not_drawn() -> None:
    assert [*arrows([push(0), pop(8)], SLICES)] == []
    # The next arrow has the next number.
    found = ends([*arrows([push(8), push(0), pop(1), pop(3)], SLICES)])
    assert found == [("s", 7, 19.5, 1), ("f", 9, 40, 1)]
