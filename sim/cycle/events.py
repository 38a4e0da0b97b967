"""Event records of a run, from the times of its instructions."""

from __future__ import annotations

import numpy as np

from tandem.hw.isa import TokenQueue
from tandem.sim.cycle.state import DISPATCH, END, FETCHED, START, Run
from tandem.sim.events import NEVER, POP_SLOTS, PUSH_SLOTS, EventTable

_TIMES = (FETCHED, DISPATCH, START, START, START, END, END, END)
"""By slot of an instruction's events, its time."""


def events_of(run: Run) -> EventTable:
    """The events, ordered by cycle, unit and instruction; pops come before the start, pushes after
    the end."""
    times = np.stack([run.times[row] for row in _TIMES], axis=1)
    for slot, queue in zip(POP_SLOTS + PUSH_SLOTS, run.queues.T, strict=True):
        times[queue >= len(TokenQueue), slot] = NEVER
    return EventTable.of_times(run.units, times)
