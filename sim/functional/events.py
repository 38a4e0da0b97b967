"""Event records of a run of the functional engine."""

from __future__ import annotations

from tandem.hw.isa import TokenQueue, Unit
from tandem.hw.isa.columns import InstructionFields
from tandem.sim.events import Event, EventKind
from tandem.sim.functional.plan import NOWHERE, Plan

_KINDS = (EventKind.POP, EventKind.POP, EventKind.PUSH, EventKind.PUSH)


def events_of(plan: Plan, log: InstructionFields) -> tuple[Event, ...]:
    """The events of the instructions in `log`, in the order of the log."""
    events: list[Event] = []
    for instruction in log.tolist():
        unit = Unit(plan.units[instruction])
        tokens = [
            Event(None, unit, instruction, kind, TokenQueue(queue))
            for kind, queue in zip(_KINDS, plan.queues[instruction].tolist(), strict=True)
            if queue != NOWHERE
        ]
        events += [event for event in tokens if event.kind is EventKind.POP]
        events.append(Event(None, unit, instruction, EventKind.START))
        events.append(Event(None, unit, instruction, EventKind.END))
        events += [event for event in tokens if event.kind is EventKind.PUSH]
    return tuple(events)
