"""Fetch, check and the queues (rule 3): when instructions move, by hand."""

from __future__ import annotations

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, MemoryId, Unit
from tandem.sim.cycle.dispatch import INSTRUCTION_SHIFT, STAGES, dispatch, fetch
from tandem.sim.cycle.faults import OF_DISPATCH
from tandem.sim.cycle.reads import FETCH, GRANTED, USED
from tandem.sim.cycle.state import (
    DISPATCH,
    DISPATCHED,
    FAULT_AT,
    FAULT_CODE,
    FAULT_CYCLE,
    FAULT_SOURCE,
    FETCHED,
    FETCHES,
    HALF,
    LONGEST_WAIT,
    MOVED,
    NEXT,
    START,
    WAKE,
    WAKE_FETCH,
)
from tests.support.sim.runs import Parts, parts_of

TINY = load_config("tiny")
"""Two beats an instruction, and queues of four."""
WIDE = TINY.replace(name="wide", bus_bits=256)
"""Two instructions a beat."""
EVEN = TINY.replace(name="even", bus_bits=128)


def parts(config: HardwareConfig, *units: Unit, address: int = 0) -> Parts:
    """A program of an instruction of each unit, and nothing fetched."""
    asm = Assembler(config)
    for unit in units:
        asm.nop(unit)
    part = parts_of(config, asm.build(), address=address)
    # That of a program without FINISH.
    part.run.faults[:] = 0
    return part


def arrive(part: Parts, *cycles: int) -> None:
    """The cycles from which the program's beats can be used, of those that were granted."""
    part.reads.clients[FETCH, GRANTED] = len(cycles)
    part.run.available[: len(cycles)] = cycles


def fetched(part: Parts) -> bool:
    return fetch(part.machine, part.run, part.reads)


def used(part: Parts) -> list[int]:
    return part.reads.used[FETCH, : part.reads.clients[FETCH, USED]].tolist()


def test_sizes() -> None:
    assert (STAGES, 1 << INSTRUCTION_SHIFT) == (4, 16)


def test_of_a_narrow_bus_the_second_beat_is_used_when_the_instruction_moves() -> None:
    part = parts(TINY, *[Unit.LOAD] * 3)
    assert not fetched(part)
    arrive(part, 10)
    assert fetched(part)
    assert (part.run.state[FETCHES], part.run.state[HALF]) == (0, 1)
    assert not fetched(part)
    arrive(part, 10, 11, 12, 20, 21)
    assert fetched(part)
    assert (part.run.state[FETCHES], part.run.state[HALF]) == (2, 1)
    assert part.run.times[MOVED, :2].tolist() == [11, 20]
    # The first beat of the third instruction is used a cycle after the beat before it.
    assert used(part) == [10, 11, 12, 20, 21]
    arrive(part, 10, 11, 12, 20, 21, 21)
    assert fetched(part)
    assert part.run.times[MOVED, 2] == 22
    assert used(part) == [10, 11, 12, 20, 21, 22]
    assert not fetched(part)


def test_beats_that_are_there_are_used_one_a_cycle() -> None:
    part = parts(TINY, *[Unit.LOAD] * 3)
    arrive(part, *[5] * 6)
    fetched(part)
    assert used(part) == [5, 6, 7, 8, 9, 10]
    assert part.run.times[MOVED].tolist() == [6, 8, 10]


def test_of_a_wide_bus_a_beat_is_used_with_its_last_instruction() -> None:
    part = parts(WIDE, *[Unit.LOAD] * 3)
    arrive(part, 10)
    assert fetched(part)
    assert part.run.times[MOVED, :2].tolist() == [10, 11]
    assert part.run.state[FETCHES] == 2
    assert used(part) == [11]
    arrive(part, 10, 30)
    assert fetched(part)
    # The last instruction of the program uses the beat that it fills in half.
    assert part.run.times[MOVED, 2] == 30
    assert used(part) == [11, 30]


def test_a_program_can_begin_within_a_beat() -> None:
    part = parts(WIDE, *[Unit.LOAD] * 4, address=16)
    arrive(part, 10)
    assert fetched(part)
    assert part.run.state[FETCHES] == 1
    assert used(part) == [10]
    arrive(part, 10, 10, 40)
    fetched(part)
    assert part.run.times[MOVED].tolist() == [10, 11, 12, 40]
    assert used(part) == [10, 12, 40]


def test_of_a_bus_as_wide_as_an_instruction_each_beat_is_one() -> None:
    part = parts(EVEN, *[Unit.LOAD] * 3, address=16)
    arrive(part, 3, 4, 9)
    fetched(part)
    assert part.run.times[MOVED].tolist() == [3, 4, 9]
    assert used(part) == [3, 4, 9]


def test_check_holds_four_instructions() -> None:
    part = parts(EVEN, *[Unit.LOAD] * 7)
    arrive(part, *range(7))
    assert fetched(part)
    assert part.run.state[FETCHES] == STAGES
    part.run.state[DISPATCHED] = 2
    part.run.times[DISPATCH, :2] = 20, 30
    assert fetched(part)
    # Those that follow move up as those ahead leave.
    assert part.run.times[MOVED, :6].tolist() == [0, 1, 2, 3, 20, 30]
    assert part.run.state[FETCHES] == 6
    assert not fetched(part)


def dispatched(part: Parts, *moved: int) -> list[int]:
    """Dispatch what has moved; the cycles of all that are dispatched."""
    part.run.times[MOVED, : len(moved)] = moved
    part.run.state[FETCHES] = len(moved)
    dispatch(part.machine, part.run)
    return part.run.times[DISPATCH, : part.run.state[DISPATCHED]].tolist()


def test_instructions_reach_their_queues_four_cycles_later_one_a_cycle() -> None:
    part = parts(TINY, Unit.STORE, Unit.LOAD, Unit.COMPUTE)
    assert dispatched(part) == []
    assert part.run.state[WAKE] == 0
    assert dispatched(part, 10) == [14]
    assert part.run.state[WAKE] == 1 << Unit.STORE | WAKE_FETCH
    part.run.state[WAKE] = 0
    assert dispatched(part, 10, 10, 20) == [14, 15, 24]
    assert part.run.times[FETCHED].tolist() == [14, 15, 24]
    assert part.run.state[WAKE] == 1 << Unit.LOAD | 1 << Unit.COMPUTE | WAKE_FETCH


def test_a_full_queue_holds_back_all_behind_it() -> None:
    part = parts(TINY, *[Unit.STORE] * 6, Unit.LOAD)
    depth = part.machine.queue_depth
    assert depth == 4
    assert dispatched(part, *range(7)) == [4, 5, 6, 7]
    # The first of the queue starts in 50: the fifth takes its place a cycle later.
    part.run.state[NEXT + Unit.STORE] = 1
    part.run.times[START, 0] = 50
    assert dispatched(part, *range(7)) == [4, 5, 6, 7, 51]
    part.run.state[NEXT + Unit.STORE] = 2
    part.run.times[START, 1] = 3
    assert dispatched(part, *range(7)) == [4, 5, 6, 7, 51, 52, 53]
    assert part.run.times[FETCHED].tolist() == [4, 5, 6, 7, 8, 52, 53]


def test_the_queues_of_other_units_do_not_count() -> None:
    part = parts(TINY, Unit.STORE, *[Unit.LOAD] * 4, Unit.COMPUTE, Unit.LOAD)
    assert dispatched(part, *range(7)) == [4, 5, 6, 7, 8, 9]
    part.run.state[NEXT + Unit.LOAD] = 1
    part.run.times[START, 1] = 60
    assert dispatched(part, *range(7))[-1] == 61


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_illegal_stops_all_behind_it(place: int) -> None:
    asm = Assembler(TINY)
    for at in range(3):
        beyond = TINY.depth(MemoryId.INP)
        asm.load(MemoryId.INP, sram=beyond if at == place else 0, dram=0, columns=1)
    part = parts_of(TINY, asm.build())
    assert part.run.state[FAULT_CYCLE] == LONGEST_WAIT
    assert dispatched(part, 7, 7, 7) == [11][:place]
    state = part.run.state
    assert state[FAULT_CYCLE] == 11 + place
    assert (state[FAULT_SOURCE], state[FAULT_AT]) == (OF_DISPATCH, place)
    assert state[FAULT_CODE] == part.run.faults[place] != 0
