"""What units did in each cycle (rule 10), from times that are given."""

from __future__ import annotations

import numpy as np

from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, MemoryId, Unit
from tandem.sim.cycle.counters import unit_cycles
from tandem.sim.cycle.state import DISPATCH, END, START, WROTE
from tandem.sim.cycle.stores import MOVING
from tandem.sim.result import UnitCycles
from tests.support.sim.runs import Parts, parts_of

TINY = load_config("tiny")
EXTENDED = load_config("tiny-x")
NOTHING = UnitCycles(busy=0, token=0, memory=0)


def spent(part: Parts) -> dict[Unit, UnitCycles]:
    return unit_cycles(part.machine, part.run, part.stores)


def program_of(*times: tuple[Unit, int, int, int, int], extended: bool = False) -> Parts:
    """Instructions of units with the times of dispatch, start and end, and writes (-1: no LOAD)."""
    config = EXTENDED if extended else TINY
    asm = Assembler(config)
    for unit, *_ in times:
        asm.nop(unit)
    part = parts_of(config, asm.build())
    for at, (_, *own) in enumerate(times):
        part.run.times[[DISPATCH, START, END, WROTE], at] = own
    return part


def test_units_without_instructions_are_idle() -> None:
    one = spent(program_of((Unit.COMPUTE, 5, 6, 7, -1)))
    assert one == {Unit.LOAD: NOTHING, Unit.COMPUTE: UnitCycles(2, 0, 0), Unit.STORE: NOTHING}


def test_cycles_of_loads() -> None:
    """The first starts at once, in 6, and writes 4 times from 8 to 20 of which it waits for memory
    9 cycles; the second is dispatched in 10, and waits for a token from 21 to 29."""
    part = program_of((Unit.LOAD, 5, 6, 20, 4), (Unit.LOAD, 10, 30, 31, -1))
    assert spent(part)[Unit.LOAD] == UnitCycles(busy=15 - 9 + 2, token=9, memory=9)
    # One that is dispatched in 25 only waits from then on.
    part.run.times[DISPATCH, 1] = 25
    assert spent(part)[Unit.LOAD] == UnitCycles(busy=8, token=4, memory=9)
    part.run.times[DISPATCH, 1] = 29
    assert spent(part)[Unit.LOAD] == UnitCycles(busy=8, token=0, memory=9)


def test_cycles_of_loops_that_overlap() -> None:
    """The second starts while the first is in the pipeline: its cycles until 20 count once. The
    third ends before the second, and adds none."""
    part = program_of(
        (Unit.COMPUTE, 0, 6, 20, -1), (Unit.COMPUTE, 1, 13, 40, -1), (Unit.COMPUTE, 2, 14, 30, -1)
    )
    assert spent(part)[Unit.COMPUTE] == UnitCycles(busy=35, token=5, memory=0)


def test_a_load_of_compute_ends_later_where_out_follows() -> None:
    part = program_of((Unit.COMPUTE, 0, 1, 20, 8), extended=True)
    assert spent(part)[Unit.COMPUTE] == UnitCycles(busy=14, token=0, memory=6)
    part = program_of((Unit.COMPUTE, 0, 1, 20, 8))
    assert spent(part)[Unit.COMPUTE] == UnitCycles(busy=10, token=0, memory=10)
    part = program_of((Unit.LOAD, 0, 1, 20, 8), extended=True)
    assert spent(part)[Unit.LOAD] == UnitCycles(busy=10, token=0, memory=10)


def test_the_store_unit_has_counted_its_beats() -> None:
    part = program_of((Unit.STORE, 3, 4, 13, -1), (Unit.STORE, 9, 20, 29, -1))
    part.stores.state[MOVING] = 7
    assert spent(part)[Unit.STORE] == UnitCycles(busy=7, token=6, memory=13)


def test_order_is_that_of_each_unit() -> None:
    asm = Assembler(TINY)
    asm.load(MemoryId.INP, sram=0, dram=0, columns=1)
    asm.nop(Unit.COMPUTE)
    asm.nop(Unit.LOAD)
    part = parts_of(TINY, asm.build())
    part.run.times[:] = 0
    part.run.times[[DISPATCH, START, END, WROTE]] = np.array(
        [[0, 0, 0], [1, 50, 3], [2, 60, 4], [-1, -1, -1]]
    )
    found = spent(part)
    assert found[Unit.LOAD] == UnitCycles(busy=4, token=0, memory=0)
    assert found[Unit.COMPUTE] == UnitCycles(busy=11, token=49, memory=0)
