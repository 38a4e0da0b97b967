"""From the `events` port to records."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Assembler, TokenQueue, Unit
from tandem.sim.errors import EngineError
from tandem.sim.events import Event, EventKind
from tandem.sim.rtl.events import decode_events

# Stated here once more, so that a change of the layout shows.
UNIT_BITS = 6
START, END, POP_PREV, POP_NEXT, PUSH_PREV, PUSH_NEXT = (1 << bit for bit in range(UNIT_BITS))
FETCH, DISPATCH = 1 << 18, 1 << 19


def log(*rows: tuple[int, Unit, int]) -> np.ndarray:
    return np.array(
        [(cycle, bits << UNIT_BITS * unit) for cycle, unit, bits in rows], dtype=np.uint64
    ).reshape(-1, 2)


def two_computes_and_a_store() -> Assembler:
    asm = Assembler(HardwareConfig())
    asm.nop(Unit.COMPUTE, signals=Unit.STORE)
    asm.nop(Unit.STORE, waits_for=Unit.COMPUTE)
    asm.finish()
    return asm


def test_a_story() -> None:
    program = two_computes_and_a_store().build()
    seen = decode_events(
        program,
        log(
            (3, Unit.COMPUTE, START),
            (5, Unit.COMPUTE, END | PUSH_NEXT | START),
            (6, Unit.STORE, START | END | POP_PREV),
            (6, Unit.COMPUTE, END),
        ),
    )
    assert seen == (
        Event(3, Unit.COMPUTE, 0, EventKind.START),
        Event(5, Unit.COMPUTE, 0, EventKind.END),
        Event(5, Unit.COMPUTE, 0, EventKind.PUSH, TokenQueue.COMPUTE_TO_STORE),
        Event(5, Unit.COMPUTE, 2, EventKind.START),
        Event(6, Unit.COMPUTE, 2, EventKind.END),
        Event(6, Unit.STORE, 1, EventKind.POP, TokenQueue.COMPUTE_TO_STORE),
        Event(6, Unit.STORE, 1, EventKind.START),
        Event(6, Unit.STORE, 1, EventKind.END),
    )


def test_fetch_tells_of_every_instruction_in_order() -> None:
    program = two_computes_and_a_store().build()
    rows = [(1, FETCH | DISPATCH), (2, FETCH), (4, DISPATCH), (4, START << UNIT_BITS), (5, FETCH)]
    assert decode_events(program, np.array(rows, np.uint64)) == (
        Event(1, Unit.COMPUTE, 0, EventKind.FETCH),
        Event(1, Unit.COMPUTE, 0, EventKind.DISPATCH),
        Event(2, Unit.STORE, 1, EventKind.FETCH),
        Event(4, Unit.COMPUTE, 0, EventKind.START),
        Event(4, Unit.STORE, 1, EventKind.DISPATCH),
        Event(5, Unit.COMPUTE, 2, EventKind.FETCH),
    )


def test_nothing() -> None:
    assert decode_events(two_computes_and_a_store().build(), log()) == ()


def test_more_than_the_program_has() -> None:
    rows = [(cycle, Unit.STORE, START) for cycle in range(2)]
    with pytest.raises(EngineError, match="store showed 2 instructions: the program has 1"):
        decode_events(two_computes_and_a_store().build(), log(*rows))


def test_more_fetched_than_the_program_has() -> None:
    rows = np.array([(cycle, DISPATCH) for cycle in range(4)], np.uint64)
    with pytest.raises(EngineError, match="fetch showed 4 instructions: the program has 3"):
        decode_events(two_computes_and_a_store().build(), rows)
