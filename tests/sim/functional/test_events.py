"""The events of instructions that ran in a given order."""

from __future__ import annotations

import numpy as np

from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, TokenQueue, Unit
from tandem.sim.events import Event, EventKind
from tandem.sim.functional.events import events_of
from tandem.sim.functional.plan import Plan, make_plan

TINY = load_config("tiny")
POP, PUSH, START, END = EventKind.POP, EventKind.PUSH, EventKind.START, EventKind.END


def plan() -> Plan:
    asm = Assembler(TINY)
    both = (Unit.LOAD, Unit.STORE)
    asm.nop(Unit.COMPUTE, waits_for=both, signals=both)
    asm.nop(Unit.STORE)
    return make_plan(TINY, asm.build().columns())


def test_tokens_are_popped_before_the_start_and_pushed_behind_the_end() -> None:
    found = events_of(plan(), np.array([1, 0]))
    unit = Unit.COMPUTE
    assert found == (
        Event(None, Unit.STORE, 1, START),
        Event(None, Unit.STORE, 1, END),
        Event(None, unit, 0, POP, TokenQueue.LOAD_TO_COMPUTE),
        Event(None, unit, 0, POP, TokenQueue.STORE_TO_COMPUTE),
        Event(None, unit, 0, START),
        Event(None, unit, 0, END),
        Event(None, unit, 0, PUSH, TokenQueue.COMPUTE_TO_LOAD),
        Event(None, unit, 0, PUSH, TokenQueue.COMPUTE_TO_STORE),
    )


def test_what_did_not_run_has_no_events() -> None:
    assert events_of(plan(), np.array([], np.int64)) == ()
