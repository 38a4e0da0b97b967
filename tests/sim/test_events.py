"""Tables of events: sequences of `Event`, kept as columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.hw.topology import POPS, PUSHES, TokenQueue, Unit
from tandem.sim.events import (
    KINDS,
    NEVER,
    POP_SLOTS,
    PUSH_SLOTS,
    SLOTS,
    Event,
    EventKind,
    EventTable,
)

EVENTS = st.builds(
    Event,
    st.none() | st.integers(0, 1 << 62),
    st.sampled_from(Unit),
    st.integers(0, 1 << 20),
    st.sampled_from(EventKind),
    st.none() | st.sampled_from(TokenQueue),
)


@given(events=st.lists(EVENTS, max_size=6))
def test_a_table_is_a_sequence_of_its_events(events: list[Event]) -> None:
    table = EventTable.of(events)
    assert (list(table), len(table), bool(table)) == (events, len(events), bool(events))
    assert table == tuple(events) == table
    assert table == EventTable.of(table)
    assert list(table[1:4]) == events[1:4]
    assert [table[-1]] == events[-1:] if events else not table
    assert (EventTable.of(events[:-1]) == table) is not bool(events)
    assert table != [*events, "an event"]
    assert table != 3
    with pytest.raises(IndexError):
        table[len(events)]


@given(data=st.data())
def test_times_by_slot(data: st.DataObject) -> None:
    """Against the same events, sorted one by one."""
    units = data.draw(st.lists(st.sampled_from(Unit), max_size=5))
    times = [
        [data.draw(st.sampled_from((NEVER, 0, 1, 2))) for _ in SLOTS] for _ in range(len(units))
    ]
    rows = []
    for instruction, (unit, cycles) in enumerate(zip(units, times, strict=True)):
        queues = dict(zip(POP_SLOTS + PUSH_SLOTS, POPS[unit] + PUSHES[unit], strict=True))
        for slot, (kind, cycle) in enumerate(zip(SLOTS, cycles, strict=True)):
            if cycle != NEVER:
                event = Event(cycle, unit, instruction, kind, queues.get(slot))
                rows.append(((cycle, unit, instruction, slot), event))
    wanted = [event for _, event in sorted(rows, key=lambda row: row[0])]
    table = EventTable.of_times(
        np.array(units, np.int8), np.array(times, np.int64).reshape(-1, len(SLOTS))
    )
    assert list(table) == wanted


def test_slots_are_pops_start_end_and_pushes() -> None:
    assert [SLOTS[slot] for slot in POP_SLOTS] == [EventKind.POP] * 2
    assert [SLOTS[slot] for slot in PUSH_SLOTS] == [EventKind.PUSH] * 2
    assert sorted(KINDS, key=SLOTS.index) == [*dict.fromkeys(SLOTS)]
