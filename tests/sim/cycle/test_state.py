"""Each number of a run's state has a place of its own."""

from __future__ import annotations

from tandem.hw.topology import TokenQueue, Unit
from tandem.sim.cycle import state

QUEUES = len(TokenQueue) + 1
"""With that of flags which are not set."""
LENGTHS = {
    "DISPATCHED": 1,
    "HALF": 1,
    "NEXT": len(Unit),
    "READY_AT": len(Unit),
    "LOOPS_AT": 1,
    "ENDED": 1,
    "LAST": 1,
    "POPPED": QUEUES,
    "PUSHED": QUEUES,
    "FETCHES": 1,
    "WAKE": 1,
    "LIMIT": 1,
    "WATCH": 1,
    "FAULT_CYCLE": 1,
    "FAULT_SOURCE": 1,
    "FAULT_CODE": 1,
    "FAULT_AT": 1,
    "SHIFT_AT": 2,
}


def test_fields_lie_one_behind_the_other() -> None:
    taken: list[int] = []
    for name, length in LENGTHS.items():
        first = getattr(state, name)
        taken += range(first, first + length)
    assert taken == list(range(state.FIELDS))


def test_bits_that_wake_parts_are_apart() -> None:
    assert (state.UNITS, state.QUEUES) == (3, 4)
    bits = [*(1 << unit for unit in Unit), state.WAKE_FETCH, state.WAKE_DISPATCH]
    assert bits == [1, 2, 4, 8, 16]
    assert [state.WATCH_BUS, state.WATCH_INDICES, state.WATCH_SILENCE] == [1, 2, 4]


def test_times_of_an_instruction() -> None:
    times = [state.MOVED, state.FETCHED, state.DISPATCH, state.START, state.END, state.WROTE]
    assert times == list(range(state.TIMES))
    # As far as all cycles of a run, and the sum of two fits.
    assert 1 << 60 < state.LONGEST_WAIT < 1 << 62
