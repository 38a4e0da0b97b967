"""Times of instructions, and whose tokens they waited for, from events by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Finish, Program, TokenQueue, Unit, Work
from tandem.hw.isa.instructions import Load, Store
from tandem.hw.topology import MemoryId
from tandem.sim.errors import EngineError
from tandem.sim.events import Event, EventKind, EventTable
from tandem.sim.result import Result
from tandem.sim.why.times import RunTimes, Token

L2C, C2L, C2S, S2C = TokenQueue
LOAD, COMPUTE, STORE = Unit
WORK = Work(loaded={}, stored=0, gemm_uops=0, reset_uops=0, alu_uops=0, instructions={})


def program() -> Program:
    """Two loads of INP, two of micro-ops, a STORE and the end."""
    loads = [
        Load(memory=memory, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
        for memory in (MemoryId.INP, MemoryId.UOP, MemoryId.INP, MemoryId.UOP)
    ]
    store = Store(memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
    return Program.from_instructions(load_config("tiny"), [*loads, store, Finish()])


UNITS = (LOAD, COMPUTE, LOAD, COMPUTE, STORE, COMPUTE)


def events() -> list[Event]:
    found = []
    for at, unit in enumerate(UNITS):
        for kind, cycle in zip(
            (EventKind.FETCH, EventKind.DISPATCH, EventKind.START, EventKind.END),
            (at + 1, at + 2, 10 * at + 10, 10 * at + 15),
            strict=True,
        ):
            # The STORE never left dispatch.
            if at != 4 or kind is not EventKind.FETCH:
                found.append(Event(cycle, unit, at, kind))
    for at, queue in ((0, L2C), (2, L2C), (1, C2S), (3, C2S), (2, L2C)):
        found.append(Event(10 * at + 15, UNITS[at], at, EventKind.PUSH, queue))
    for at, queue in ((1, L2C), (3, L2C), (4, C2S)):
        found.append(Event(10 * at + 10, UNITS[at], at, EventKind.POP, queue))
    # Of a queue of another kind, which none pushed.
    return [*found, Event(60, COMPUTE, 5, EventKind.POP, S2C)]


def result(**changes: object) -> Result:
    plain = Result("cycle", 70, None, WORK, EventTable.of(events()), 0.0)
    return replace(plain, **changes)  # type: ignore[arg-type]


def times() -> RunTimes:
    return RunTimes.of(program(), result())


def test_times_by_instruction() -> None:
    found = times()
    assert found.fetch == [1, 2, 3, 4, 0, 6]
    assert found.dispatch == [2, 3, 4, 5, 6, 7]
    assert found.start == [10, 20, 30, 40, 50, 60]
    assert found.end == [15, 25, 35, 45, 55, 65]
    assert found.cycles == 70


def test_units_and_their_streams() -> None:
    found = times()
    assert found.units == [*UNITS]
    assert found.streams == {LOAD: [0, 2], COMPUTE: [1, 3, 5], STORE: [4]}
    assert found.ordinals == [0, 0, 1, 1, 0, 2]


def test_the_first_token_pushed_is_the_first_popped() -> None:
    # The third token of load, and the second for the STORE, are left.
    assert times().tokens == {1: (Token(L2C, 0),), 3: (Token(L2C, 2),), 4: (Token(C2S, 1),)}


def test_the_instructions_before() -> None:
    found = times()
    assert [found.before(at) for at in range(6)] == [None, None, 0, 1, None, 3]
    assert [found.before(5, distance) for distance in (0, 1, 2, 3)] == [5, 3, 1, None]


def test_the_token_that_was_pushed_last() -> None:
    found = times()
    assert found.last_token(0) is None
    assert found.last_token(3) == Token(L2C, 2)
    both = replace(found, tokens={5: (Token(L2C, 2), Token(S2C, 4), Token(L2C, 0))})
    assert both.last_token(5) == Token(S2C, 4)


def test_runs_without_times() -> None:
    with pytest.raises(EngineError, match="causes need cycles: the functional engine has no time"):
        RunTimes.of(program(), result(cycles=None, engine="functional"))
    with pytest.raises(EngineError, match="causes need a run's events: launch with events=True"):
        RunTimes.of(program(), result(events=EventTable.of([])))
