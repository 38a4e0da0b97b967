"""Decodes the design's `events` port into event records.

The port (`hw.events`) has the unit and the kind of an event, but not its instruction. As each unit
executes its instructions in order, the k-th start (and the k-th end) is that of the unit's k-th
instruction; fetch dispatches the program in order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.hw.events import FetchEvent, UnitEvent, fetch_bit, unit_bit
from tandem.hw.isa import Program, Unit
from tandem.hw.topology import POPS, PUSHES
from tandem.sim.errors import EngineError
from tandem.sim.events import NEVER, POP_SLOTS, PUSH_SLOTS, SLOTS, EventKind, EventTable
from tandem.sim.rtl.bench import EventLog

_FETCH = ((FetchEvent.FETCHED, EventKind.FETCH), (FetchEvent.DISPATCHED, EventKind.DISPATCH))
_EDGES = (
    (UnitEvent.START, EventKind.START, POP_SLOTS, (UnitEvent.POP_PREV, UnitEvent.POP_NEXT), POPS),
    (UnitEvent.END, EventKind.END, PUSH_SLOTS, (UnitEvent.PUSH_PREV, UnitEvent.PUSH_NEXT), PUSHES),
)
"""START and END: the kind of event, and the slots, bits and queues of the token events in the same
cycle."""


def decode_events(program: Program, log: EventLog) -> EventTable:
    """The records in `log`, ordered by cycle, unit and instruction; pops come before the start,
    pushes after the end."""
    units = program.units()
    times = np.full((len(units), len(SLOTS)), NEVER, np.int64)
    cycles = log[:, 0].astype(np.int64)
    for event, kind in _FETCH:
        rows = _happened(log[:, 1], fetch_bit(event), "fetch", len(units))
        times[: len(rows), SLOTS.index(kind)] = cycles[rows]
    for unit in Unit:
        instructions = np.flatnonzero(units == unit)
        bits = log[:, 1] >> np.uint64(unit_bit(unit)) & np.uint64((1 << len(UnitEvent)) - 1)
        for edge, kind, slots, tokens, queues in _EDGES:
            rows = _happened(bits, edge, unit.name.lower(), len(instructions))
            numbers = instructions[: len(rows)]
            times[numbers, SLOTS.index(kind)] = cycles[rows]
            for slot, token, queue in zip(slots, tokens, queues[unit], strict=True):
                if queue is not None:
                    moved = (bits[rows] >> np.uint64(token) & np.uint64(1)).astype(np.bool_)
                    times[numbers[moved], slot] = cycles[rows][moved]
    return EventTable.of_times(units, times)


def _happened(
    bits: npt.NDArray[np.uint64], bit: int, unit: str, instructions: int
) -> npt.NDArray[np.intp]:
    """Indices of the rows in which `bit` is set."""
    rows = np.flatnonzero(bits >> np.uint64(bit) & np.uint64(1))
    if len(rows) > instructions:
        raise EngineError(
            f"{unit} showed {len(rows)} instructions: the program has {instructions} for it"
        )
    return rows
