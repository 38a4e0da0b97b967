"""From the design's `events` port to event records.

The port says that something happened in a module, not to which instruction: as each module takes
its instructions in order, the k-th start (and the k-th end) is that of its k-th instruction.
"""

from __future__ import annotations

import numpy as np

from hw.isa import Module, Program, TokenQueue
from sim.errors import EngineError
from sim.result import Event, EventKind
from sim.rtl.bench import EventLog

__all__ = ["MODULE_BITS", "decode_events", "queues_of"]

MODULE_BITS = 6
"""Bits of a module: start, end, pop_prev, pop_next, push_prev, push_next, from its lowest up."""
_START, _END = 0, 1

_Row = tuple[int, Module, int, int, EventKind, TokenQueue | None]


def decode_events(program: Program, log: EventLog) -> tuple[Event, ...]:
    """The records in `log`, ordered by cycle, module and instruction; pops come before the start,
    pushes after the end."""
    rows: list[_Row] = []
    for module in Module:
        instructions = np.flatnonzero(program.modules() == module)
        queues = queues_of(module)
        bits = log[:, 1] >> np.uint64(MODULE_BITS * module) & np.uint64((1 << MODULE_BITS) - 1)
        for edge in (_START, _END):
            happened = np.flatnonzero(bits >> np.uint64(edge) & np.uint64(1))
            if len(happened) > len(instructions):
                raise EngineError(
                    f"{module.name.lower()} showed {len(happened)} instructions: "
                    f"the program has {len(instructions)} for it"
                )
            numbers = instructions[: len(happened)].tolist()
            cycles, flags = log[happened, 0].tolist(), bits[happened].tolist()
            for instruction, cycle, flag in zip(numbers, cycles, flags, strict=True):
                rows += _rows(cycle, module, instruction, edge, flag, queues)
    rows.sort(key=lambda row: row[:4])
    return tuple(
        Event(cycle, module, instruction, kind, queue)
        for cycle, module, instruction, _, kind, queue in rows
    )


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
    # A key of the order: pops, start, end, pushes.
    rows: list[_Row] = [(cycle, module, instruction, 2 + edge, kind, None)]
    for side in range(2):
        queue = queues[2 * edge + side]
        if flag >> (2 + 2 * edge + side) & 1 and queue is not None:
            rows.append((cycle, module, instruction, 4 * edge + side, token, queue))
    return rows


def queues_of(module: Module) -> tuple[TokenQueue | None, ...]:
    """The queues behind `module`'s pop_prev, pop_next, push_prev and push_next."""
    ends = {(queue.producer.value, queue.consumer.value): queue for queue in TokenQueue}
    before, after = module - 1, module + 1
    pairs = ((before, module), (after, module), (module, before), (module, after))
    return tuple(ends.get((int(producer), int(consumer))) for producer, consumer in pairs)
