"""Races in a sentence."""

from __future__ import annotations

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.hazards.explain import Conflict, race_of
from tandem.hw.isa import Finish, Load, MemoryId, Program, Store
from tandem.hw.topology import TokenQueue, Unit
from tests.support.hw.instructions import GEMM

TINY = load_config("tiny")
PROGRAM = Program.from_instructions(
    TINY,
    [
        Load(memory=MemoryId.INP, sram_base=7, dram_base=0, y_size=1, x_size=1, x_stride=1),
        GEMM,
        Store(memory=MemoryId.OUT, sram_base=0, dram_base=9, y_size=1, x_size=1, x_stride=1),
        Finish(),
    ],
)
UNITS = (Unit.LOAD, Unit.COMPUTE, Unit.STORE, Unit.COMPUTE)
L2C, C2L, C2S, S2C = TokenQueue


def test_neighbours() -> None:
    race = race_of(PROGRAM, UNITS, Conflict(0, 1, MemoryId.INP, 7, later_writes=False))
    assert (race.first, race.second, race.memory, race.address) == (0, 1, MemoryId.INP, 7)
    assert (race.first_writes, race.second_writes, race.queues) == (True, False, (L2C,))
    assert str(race).startswith("instruction 0 (LOAD ")
    assert " writes INP element 7 and instruction 1 (GEMM " in race.explanation
    assert race.explanation.endswith(
        ") reads it, in no order: a token load->compute from 0 or later to 1 or earlier would "
        "order them"
    )


@pytest.mark.parametrize(
    ("earlier", "later", "later_writes", "first_writes"),
    [(1, 2, False, True), (1, 2, True, False), (2, 1, False, False), (2, 1, True, True)],
)
def test_who_writes(earlier: int, later: int, later_writes: bool, first_writes: bool) -> None:
    """Whichever comes first in the execution order, the sentence is in the program's."""
    race = race_of(PROGRAM, UNITS, Conflict(earlier, later, MemoryId.ACC, 3, later_writes))
    assert (race.first, race.second, race.queues) == (1, 2, (C2S,))
    assert (race.first_writes, race.second_writes) == (first_writes, not first_writes)
    verbs = ("writes", "reads") if first_writes else ("reads", "writes")
    assert f") {verbs[0]} ACC/OUT element 3 and instruction 2 (STORE " in race.explanation
    assert f") {verbs[1]} it, in no order" in race.explanation


def test_load_and_store_are_ordered_by_way_of_compute() -> None:
    race = race_of(PROGRAM, UNITS, Conflict(0, 2, None, 255, later_writes=True))
    assert race.queues == (L2C, C2S)
    assert " reads DRAM byte 0xff and " in race.explanation
    assert race.explanation.endswith(
        "tokens load->compute from 0 or later and on by compute->store to 2 or earlier would "
        "order them"
    )
    back = Program.from_instructions(TINY, [PROGRAM[2], PROGRAM[0], Finish()])
    units = (Unit.STORE, Unit.LOAD, Unit.COMPUTE)
    race = race_of(back, units, Conflict(0, 1, None, 0, later_writes=False))
    assert race.queues == (S2C, C2L)
