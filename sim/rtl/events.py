"""Decodes the design's `events` port into event records.

The port (`hw.events`) has the unit and the kind of an event, but not its instruction. As each unit
executes its instructions in order, the k-th start (and the k-th end) is that of the unit's k-th
instruction; fetch dispatches the program in order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hw.events import FetchEvent, UnitEvent, fetch_bit, unit_bit
from hw.isa import Program, TokenQueue, Unit
from hw.topology import POPS, PUSHES
from sim.errors import EngineError
from sim.result import Event, EventKind
from sim.rtl.bench import EventLog

_FETCH_KINDS = {FetchEvent.FETCHED: EventKind.FETCH, FetchEvent.DISPATCHED: EventKind.DISPATCH}
_EDGES = {
    UnitEvent.START: (EventKind.START, EventKind.POP, (UnitEvent.POP_PREV, UnitEvent.POP_NEXT)),
    UnitEvent.END: (EventKind.END, EventKind.PUSH, (UnitEvent.PUSH_PREV, UnitEvent.PUSH_NEXT)),
}
"""For START and END: the kind of event, and the kind and bits of token events in the same cycle."""

_Row = tuple[int, Unit, int, int, EventKind, TokenQueue | None]


def decode_events(program: Program, log: EventLog) -> tuple[Event, ...]:
    """The records in `log`, ordered by cycle, unit and instruction; pops come before the start,
    pushes after the end."""
    rows = list(_fetch_rows(program, log))
    for unit in Unit:
        instructions = np.flatnonzero(program.units() == unit)
        queues = POPS[unit] + PUSHES[unit]
        bits = log[:, 1] >> np.uint64(unit_bit(unit)) & np.uint64((1 << len(UnitEvent)) - 1)
        for edge in _EDGES:
            happened = _happened(bits, edge, unit.name.lower(), len(instructions))
            numbers = instructions[: len(happened)].tolist()
            cycles, flags = log[happened, 0].tolist(), bits[happened].tolist()
            for instruction, cycle, flag in zip(numbers, cycles, flags, strict=True):
                rows += _rows(cycle, unit, instruction, edge, flag, queues)
    rows.sort(key=lambda row: row[:4])
    return tuple(
        Event(cycle, unit, instruction, kind, queue)
        for cycle, unit, instruction, _, kind, queue in rows
    )


def _fetch_rows(program: Program, log: EventLog) -> Iterator[_Row]:
    units = [Unit(number) for number in program.units().tolist()]
    for event, kind in _FETCH_KINDS.items():
        happened = _happened(log[:, 1], fetch_bit(event), "fetch", len(units))
        for instruction, cycle in enumerate(log[happened, 0].tolist()):
            yield (cycle, units[instruction], instruction, event - len(FetchEvent), kind, None)


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


def _rows(
    cycle: int,
    unit: Unit,
    instruction: int,
    edge: UnitEvent,
    flags: int,
    queues: tuple[TokenQueue | None, ...],
) -> list[_Row]:
    """The start or the end of one instruction, with the tokens that it pops or pushes."""
    kind, token_kind, tokens = _EDGES[edge]
    # The fourth entry orders the events of a cycle: fetch, pops, start, end, pushes.
    rows: list[_Row] = [(cycle, unit, instruction, 2 + edge, kind, None)]
    for side, token in enumerate(tokens):
        queue = queues[2 * edge + side]
        if flags >> token & 1 and queue is not None:
            rows.append((cycle, unit, instruction, 4 * edge + side, token_kind, queue))
    return rows
