"""Whole runs of a few instructions, whose times are added up by hand from docs/timing.md."""

from __future__ import annotations

from typing import Any

from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.isa import Assembler, MemoryId, Unit
from tandem.hw.memory_model import MemoryModel
from tandem.sim.cycle import bus_log
from tandem.sim.cycle.run import run_program
from tandem.sim.cycle.state import (
    DISPATCH,
    END,
    ENDED,
    FAULT_AT,
    FAULT_CODE,
    FAULT_CYCLE,
    LAST,
    MOVED,
    START,
    WATCH,
    WATCH_BUS,
    WROTE,
)
from tandem.sim.engine import Channel, Silence
from tests.support.sim.runs import Parts, parts_of

TINY = load_config("tiny")
"""Two beats an instruction, of 8 bytes; bursts of 8 beats at most."""


def ran(asm: Assembler, memory: MemoryModel | None = None, *, watch: int = 0, **how: Any) -> Parts:
    part = parts_of(TINY, asm.build(), memory or MemoryModel(8, 1, 16), **how)
    part.run.state[WATCH] |= watch
    run_program(*part)
    return part


def loading(count: int = 1) -> Assembler:
    """LOADs of an element of INP each, for the last of which FINISH waits."""
    asm = Assembler(TINY)
    for number in range(count):
        last = number == count - 1
        signals = Unit.COMPUTE if last else ()
        asm.load(MemoryId.INP, sram=number, dram=2 * number, columns=1, signals=signals)
    asm.finish(waits_for=Unit.LOAD)
    return asm


def test_finish_alone() -> None:
    asm = Assembler(TINY)
    asm.finish()
    # The burst is offered in 2 and on the bus in 3; beats arrive in 11 and 12, used a cycle later;
    # four stages, and a queue.
    times = ran(asm).run.times
    assert times[[MOVED, DISPATCH, START, END], 0].tolist() == [13, 17, 18, 19]
    slow = ran(asm, MemoryModel(20, 5, 1)).run
    assert slow.times[[MOVED, DISPATCH, START, END], 0].tolist() == [29, 33, 34, 35]
    assert slow.state[[ENDED, LAST]].tolist() == [1, 35]


def test_a_load_and_who_waits_for_it() -> None:
    run = ran(loading()).run
    assert run.times[MOVED].tolist() == [13, 15]
    # Its burst: offered in 20, on the bus in 21, its beat in 29, used, that is written, in 30.
    assert run.times[START].tolist() == [18, 31]
    assert run.times[END].tolist() == [30, 32]
    assert run.times[WROTE].tolist() == [1, -1]
    assert run.state[[ENDED, LAST]].tolist() == [2, 32]


def test_loads_follow_each_other() -> None:
    run = ran(loading(2)).run
    # The second starts in the cycle after the end of the first.
    assert run.times[START].tolist() == [18, 31, 44]
    assert run.times[END].tolist() == [30, 43, 45]


def test_fetch_goes_on_with_bursts_of_its_own() -> None:
    """Eight beats are four instructions: the fifth comes with a second burst, taken in 3, whose
    beats follow those of the first."""
    asm = Assembler(TINY)
    for _ in range(4):
        asm.nop(Unit.STORE)
    asm.finish()
    assert ran(asm).run.times[MOVED].tolist() == [13, 15, 17, 19, 21]
    # Memory that takes a burst at a time takes the second in the cycle after the last beat, 18.
    one = ran(asm, MemoryModel(8, 1, 1)).run.times
    assert one[MOVED].tolist() == [13, 15, 17, 19, 19 + 8 + 2]


def test_a_run_that_cannot_go_on_ends_unfinished() -> None:
    asm = Assembler(TINY)
    asm.nop(Unit.STORE, waits_for=Unit.COMPUTE)
    asm.finish()
    state = ran(asm).run.state
    assert state[[ENDED, LAST]].tolist() == [1, 21]


def test_beats_behind_a_silence() -> None:
    """Memory sends no beat in [12, 112): of the program's four, three come after it."""
    part = ran(loading(), silence=Silence(Channel.R, 12, 100), log=True)
    run = part.run
    assert run.times[MOVED].tolist() == [113, 115]
    # The LOAD of an element.
    assert run.times[START].tolist() == [118, 131]
    reads = run.bus.reads[: run.bus.counts[0]]
    fields = [
        *(bus_log.GRANTED, bus_log.ACCEPTED, bus_log.FIRST, bus_log.BEATS),
        *(bus_log.LATER, bus_log.MORE, bus_log.INSTRUCTION, bus_log.ADDRESS),
    ]
    assert reads[:, fields].tolist() == [
        [2, 3, 11, 1, 112, 3, -1, 0],
        [120, 121, 129, 1, 129, 0, 0, 0],
    ]


def test_a_load_with_a_silence_within_its_burst() -> None:
    """Six elements are three beats, in 29 and, behind the silence in [30, 50), in 50 and 51."""
    asm = Assembler(TINY)
    asm.load(MemoryId.INP, sram=0, dram=0, columns=6)
    asm.finish()
    run = ran(asm, silence=Silence(Channel.R, 30, 20)).run
    # Two elements a beat, from the cycle after each: 30, 31, then 51 to 54.
    assert run.times[END].tolist() == [54, 21]
    assert ran(asm).run.times[END].tolist() == [35, 21]


def test_without_a_log_nothing_is_kept() -> None:
    assert ran(loading()).run.bus.counts.tolist() == [0, 0]
    assert ran(loading(), log=True).run.bus.counts.tolist() == [2, 0]


def test_bus_errors_are_watched_on_demand() -> None:
    refused = ((0, 8),)
    how: dict[str, Any] = {"address": 64, "refused": refused}
    free = ran(loading(), **how).run.state
    found = ran(loading(), watch=WATCH_BUS, **how).run.state
    assert free[FAULT_CODE] == 0
    # The beat that arrives in 29.
    assert found[[FAULT_CYCLE, FAULT_CODE, FAULT_AT]].tolist() == [29, Fault.BUS_READ, 0]
    # Of fetch: the second instruction's last beat, in 14.
    fetch = ran(loading(), watch=WATCH_BUS, refused=((24, 32),)).run.state
    assert fetch[[FAULT_CYCLE, FAULT_CODE, FAULT_AT]].tolist() == [14, Fault.BUS_READ, -1]
    late = ran(
        loading(), watch=WATCH_BUS, refused=((24, 32),), silence=Silence(Channel.R, 12, 100)
    ).run.state
    assert late[FAULT_CYCLE] == 114
