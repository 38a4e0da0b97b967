"""From the design's `events` port to event records.

The port says that something happened in a module, not to which instruction: as each module takes
its instructions in order, the k-th start (and the k-th end) is that of its k-th instruction, and
fetch deals the program in order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hw.isa import Module, Program, TokenQueue
from hw.topology import POPS, PUSHES
from sim.errors import EngineError
from sim.result import Event, EventKind
from sim.rtl.bench import EventLog

__all__ = ["MODULE_BITS", "decode_events"]

MODULE_BITS = 6
"""Bits of a module: start, end, pop_prev, pop_next, push_prev, push_next, from its lowest up."""
_START, _END = 0, 1
_FETCH_BIT = MODULE_BITS * len(Module)
_FETCH_KINDS = (EventKind.FETCH, EventKind.DEAL)
"""The bits of fetch, above those of the modules."""

_Row = tuple[int, Module, int, int, EventKind, TokenQueue | None]


def decode_events(program: Program, log: EventLog) -> tuple[Event, ...]:
    """The records in `log`, ordered by cycle, module and instruction; pops come before the start,
    pushes after the end."""
    rows = list(_fetch_rows(program, log))
    for module in Module:
        instructions = np.flatnonzero(program.modules() == module)
        queues = POPS[module] + PUSHES[module]
        bits = log[:, 1] >> np.uint64(MODULE_BITS * module) & np.uint64((1 << MODULE_BITS) - 1)
        for edge in (_START, _END):
            happened = _happened(bits, edge, module.name.lower(), len(instructions))
            numbers = instructions[: len(happened)].tolist()
            cycles, flags = log[happened, 0].tolist(), bits[happened].tolist()
            for instruction, cycle, flag in zip(numbers, cycles, flags, strict=True):
                rows += _rows(cycle, module, instruction, edge, flag, queues)
    rows.sort(key=lambda row: row[:4])
    return tuple(
        Event(cycle, module, instruction, kind, queue)
        for cycle, module, instruction, _, kind, queue in rows
    )


def _fetch_rows(program: Program, log: EventLog) -> Iterator[_Row]:
    modules = [Module(number) for number in program.modules().tolist()]
    for place, kind in enumerate(_FETCH_KINDS):
        happened = _happened(log[:, 1], _FETCH_BIT + place, "fetch", len(modules))
        for instruction, cycle in enumerate(log[happened, 0].tolist()):
            yield (cycle, modules[instruction], instruction, place - 2, kind, None)


def _happened(
    bits: npt.NDArray[np.uint64], bit: int, who: str, instructions: int
) -> npt.NDArray[np.intp]:
    """The rows in which a bit is set."""
    rows = np.flatnonzero(bits >> np.uint64(bit) & np.uint64(1))
    if len(rows) > instructions:
        raise EngineError(
            f"{who} showed {len(rows)} instructions: the program has {instructions} for it"
        )
    return rows


def _rows(
    cycle: int,
    module: Module,
    instruction: int,
    edge: int,
    flag: int,
    queues: tuple[TokenQueue | None, ...],
) -> list[_Row]:
    """One edge of one instruction, with its tokens."""
    kind, token = (
        (EventKind.START, EventKind.POP) if edge == _START else (EventKind.END, EventKind.PUSH)
    )
    # A key of the order: (fetch,) pops, start, end, pushes.
    rows: list[_Row] = [(cycle, module, instruction, 2 + edge, kind, None)]
    for side in range(2):
        queue = queues[2 * edge + side]
        if flag >> (2 + 2 * edge + side) & 1 and queue is not None:
            rows.append((cycle, module, instruction, 4 * edge + side, token, queue))
    return rows
