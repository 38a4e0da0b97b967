"""When the instructions of each unit start and end (rules 4 to 9), by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import AluOp, Assembler, Loop, MemoryId, TokenQueue, Unit
from tandem.sim.cycle import loads
from tandem.sim.cycle.reads import (
    ACTIVE,
    ADDRESS,
    BEAT,
    BEATS,
    COMPUTE,
    LOAD,
    ROWS,
    SIZE,
    STRIDE,
)
from tandem.sim.cycle.reads import NEXT as OFFERED
from tandem.sim.cycle.state import (
    DISPATCH,
    DISPATCHED,
    END,
    ENDED,
    FAULT_AT,
    LAST,
    LOOPS_AT,
    NEXT,
    POPPED,
    PUSHED,
    READY_AT,
    START,
    WAKE,
    WATCH,
    WATCH_INDICES,
    WROTE,
)
from tandem.sim.cycle.units import end, end_load, load_micro_ops, start
from tests.support.sim.runs import Parts, parts_of

TINY = load_config("tiny")
EXTENDED = load_config("tiny-x")
PACKED = load_config("tiny-w")
"""Results of these two reach OUT four cycles after ACC."""
UNITS = list(Unit)


def assembler(config: HardwareConfig = TINY) -> Assembler:
    return Assembler(config)


def dispatched(
    asm: Assembler, config: HardwareConfig = TINY, cycle: int = 9, **options: Any
) -> Parts:
    """A program that has been dispatched in one cycle, whole."""
    bases = [256 * (number + 1) for number in range(7)]
    part = parts_of(config, asm.build(), bases=bases, **options)
    part.run.state[DISPATCHED] = len(part.run.units)
    part.run.times[DISPATCH] = cycle
    part.run.times[[START, END, WROTE]] = -9
    return part


def begun(part: Parts, unit: Unit) -> bool:
    return start(*part, int(unit))


def times(part: Parts, at: int) -> tuple[int, int, int]:
    """When an instruction starts and ends, and the first cycle in which its unit can go on."""
    found = part.run.times
    return int(found[START, at]), int(found[END, at]), ready(part, Unit(part.run.units[at]))


def ready(part: Parts, unit: Unit) -> int:
    return int(part.run.state[READY_AT + unit])


@pytest.mark.parametrize("unit", UNITS)
def test_only_tokens(unit: Unit) -> None:
    asm = assembler()
    asm.nop(unit)
    asm.nop(unit)
    part = dispatched(asm)
    assert begun(part, unit)
    # A STORE is an order, taken in the cycle after; the next may start when it is.
    ended, again = (12, 12) if unit is Unit.STORE else (11, 12)
    assert times(part, 0) == (10, ended, again)
    assert begun(part, unit)
    assert times(part, 1) == (again, again + ended - 10, again + 2)
    assert part.run.state[NEXT + unit] == 2
    assert part.run.times[WROTE].tolist() == [-1, -1]
    assert not begun(part, unit)
    assert part.run.state[[ENDED, LAST]].tolist() == [2, again + ended - 10]


def test_nothing_starts_before_it_is_dispatched() -> None:
    asm = assembler()
    asm.nop(Unit.LOAD)
    asm.nop(Unit.COMPUTE)
    part = dispatched(asm)
    part.run.state[DISPATCHED] = 1
    assert not begun(part, Unit.STORE)
    assert not begun(part, Unit.COMPUTE)
    assert begun(part, Unit.LOAD)
    part.run.state[DISPATCHED] = 2
    part.run.state[READY_AT + Unit.COMPUTE] = 30
    assert begun(part, Unit.COMPUTE)
    assert part.run.times[START].tolist() == [10, 30]


def test_tokens_are_popped_a_cycle_after_they_were_pushed() -> None:
    asm = assembler()
    asm.nop(Unit.COMPUTE, waits_for=(Unit.LOAD, Unit.STORE), signals=(Unit.LOAD, Unit.STORE))
    asm.nop(Unit.COMPUTE, waits_for=Unit.LOAD)
    part = dispatched(asm)
    state, pushes = part.run.state, part.run.pushes
    from_load, from_store = TokenQueue.LOAD_TO_COMPUTE, TokenQueue.STORE_TO_COMPUTE
    assert not begun(part, Unit.COMPUTE)
    state[PUSHED + from_load], pushes[from_load, 0] = 1, 20
    assert not begun(part, Unit.COMPUTE)
    state[PUSHED + from_store], pushes[from_store, 0] = 1, 30
    assert not any(state[POPPED + queue] for queue in TokenQueue)
    assert begun(part, Unit.COMPUTE)
    assert times(part, 0) == (31, 32, 33)
    assert [int(state[POPPED + queue]) for queue in (from_load, from_store)] == [1, 1]
    to_load, to_store = TokenQueue.COMPUTE_TO_LOAD, TokenQueue.COMPUTE_TO_STORE
    assert [int(state[PUSHED + queue]) for queue in (to_load, to_store)] == [1, 1]
    assert pushes[[to_load, to_store], 0].tolist() == [32, 32]
    assert state[WAKE] == 1 << Unit.LOAD | 1 << Unit.STORE
    assert not begun(part, Unit.COMPUTE)


@pytest.mark.parametrize(("pushed", "starts"), [(8, 10), (9, 10), (10, 11)])
def test_the_later_of_dispatch_and_token(pushed: int, starts: int) -> None:
    for unit, queue in (
        (Unit.STORE, TokenQueue.COMPUTE_TO_STORE),
        (Unit.LOAD, TokenQueue.COMPUTE_TO_LOAD),
    ):
        asm = assembler()
        asm.nop(unit, waits_for=Unit.COMPUTE)
        part = dispatched(asm)
        part.run.state[PUSHED + queue], part.run.pushes[queue, 0] = 1, pushed
        assert begun(part, unit)
        assert part.run.times[START, 0] == starts


@pytest.mark.parametrize(("config", "delay"), [(TINY, 0), (EXTENDED, 4)])
def test_loops_end_with_their_last_write(config: HardwareConfig, delay: int) -> None:
    """Eight cycles after the last issue; the next may start in the cycle of that."""
    asm = assembler(config)
    asm.gemm((0, 2), (Loop(5),))
    asm.alu(AluOp.ADD, (0, 1), imm=1)
    asm.nop(Unit.COMPUTE)
    part = dispatched(asm, config)
    assert begun(part, Unit.COMPUTE)
    # Ten micro-ops from 11 on.
    assert times(part, 0) == (10, 20 + 8 + delay, 29)
    assert part.run.state[LOOPS_AT] == 20
    assert begun(part, Unit.COMPUTE)
    assert times(part, 1) == (20, 21 + 8 + delay, 30)
    # Everything else starts when nothing is in the pipeline, and loops start after it.
    assert begun(part, Unit.COMPUTE)
    assert times(part, 2) == (30, 31 + delay, 32)
    assert part.run.state[LOOPS_AT] == 32


def test_a_requantise_takes_a_slot() -> None:
    asm = assembler(EXTENDED)
    asm.requantise(0)
    asm.gemm((0, 1))
    part = dispatched(asm, EXTENDED)
    assert begun(part, Unit.COMPUTE)
    assert times(part, 0) == (10, 11 + 8 + 4, 20)
    assert part.run.state[LOOPS_AT] == 11
    assert begun(part, Unit.COMPUTE)
    assert times(part, 1) == (11, 12 + 8 + 4, 21)


def test_a_table_takes_eight_cycles() -> None:
    asm = assembler(PACKED)
    asm.table(range(16))
    part = dispatched(asm, PACKED)
    assert begun(part, Unit.LOAD)
    assert times(part, 0) == (10, 18, 19)
    assert part.run.units.tolist() == [Unit.LOAD] * 2
    assert begun(part, Unit.LOAD)
    assert times(part, 1) == (19, 27, 28)


def test_a_store_that_moves_data() -> None:
    asm = assembler()
    asm.store(sram=0, dram=0, columns=2, signals=Unit.COMPUTE)
    part = dispatched(asm)
    assert begun(part, Unit.STORE)
    # OUT is read in 11 and 12, the order taken in 12; memory takes the beat in 14, acknowledges
    # in 22, and the order ends in 23.
    assert times(part, 0) == (10, 23, 13)
    assert part.run.pushes[TokenQueue.STORE_TO_COMPUTE, 0] == 23


@pytest.mark.parametrize(
    ("memory", "unit", "base", "size"),
    [
        (MemoryId.INP, Unit.LOAD, 768, 4),
        (MemoryId.WGT, Unit.LOAD, 512, 16),
        (MemoryId.ACC, Unit.COMPUTE, 1024, 16),
    ],
)
def test_a_load_asks_for_its_rows(memory: MemoryId, unit: Unit, base: int, size: int) -> None:
    asm = assembler()
    asm.load(memory, sram=0, dram=3, rows=2, columns=2, stride=5, pad=(1, 0, 1, 0))
    asm.nop(unit)
    part = dispatched(asm)
    assert begun(part, unit)
    dma = part.run.dma[unit]
    assert (dma[loads.INSTRUCTION], dma[loads.STEP], dma[loads.ELEMENT]) == (0, 5 * size, size)
    # A row of padding of 1 + 2 elements.
    assert dma[loads.WRITES] == 3
    which, other = (LOAD, COMPUTE) if unit is Unit.LOAD else (COMPUTE, LOAD)
    client = part.reads.clients[which]
    assert client[[ACTIVE, OFFERED, ROWS, SIZE, STRIDE]].tolist() == [1, 12, 2, 2 * size, 5 * size]
    assert client[ADDRESS] == base + 3 * size
    assert client[BEAT] == (base + 3 * size) // 8
    assert client[BEATS] == (2 if size == 4 else 4)
    assert not part.reads.clients[other, ACTIVE]
    # It has not ended, and nothing starts beside it.
    assert part.run.state[ENDED] == 0
    assert part.run.times[:, 0].tolist()[3:] == [10, -9, -1]
    assert not begun(part, unit)


@pytest.mark.parametrize(("config", "delay"), [(TINY, 0), (EXTENDED, 4)])
@pytest.mark.parametrize("memory", [MemoryId.INP, MemoryId.ACC])
def test_a_load_ends_with_its_last_write(
    config: HardwareConfig, delay: int, memory: MemoryId
) -> None:
    unit = Unit.LOAD if memory is MemoryId.INP else Unit.COMPUTE
    asm = assembler(config)
    asm.nop(unit)
    asm.load(
        memory,
        sram=0,
        dram=0,
        columns=2,
        pad=(0, 2, 0, 0),
        signals=unit.COMPUTE if unit is Unit.LOAD else Unit.LOAD,
    )
    part = dispatched(asm, config)
    assert begun(part, unit)
    assert begun(part, unit)
    part.run.dma[unit, loads.WRITTEN], part.run.dma[unit, loads.WRITES] = 40, 7
    part.run.state[WAKE] = 0
    end_load(part.machine, part.run, int(unit))
    late = delay if unit is Unit.COMPUTE else 0
    # Two rows of padding, of two elements.
    assert times(part, 1) == (12, 44 + late, 45)
    assert part.run.times[WROTE, 1] == 11
    assert part.run.dma[unit, loads.INSTRUCTION] == -1
    # Its consumer, and the unit itself, which can go on.
    assert part.run.state[WAKE] == 1 << Unit.LOAD | 1 << Unit.COMPUTE
    assert part.run.state[LOOPS_AT] == (45 if unit is Unit.COMPUTE else 0)
    queue = TokenQueue.LOAD_TO_COMPUTE if unit is Unit.LOAD else TokenQueue.COMPUTE_TO_LOAD
    assert part.run.pushes[queue, 0] == 44 + late


def test_a_store_starts_beside_loads() -> None:
    asm = assembler()
    asm.load(MemoryId.INP, sram=0, dram=0, columns=1)
    asm.nop(Unit.STORE)
    part = dispatched(asm)
    part.run.dma[Unit.STORE, loads.INSTRUCTION] = 0
    assert begun(part, Unit.STORE)


def test_the_last_end_is_the_latest() -> None:
    asm = assembler()
    asm.nop(Unit.LOAD, signals=Unit.COMPUTE)
    asm.nop(Unit.LOAD)
    part = dispatched(asm)
    end(part.run, 0, 50)
    end(part.run, 1, 40)
    assert part.run.state[[ENDED, LAST]].tolist() == [2, 50]
    assert part.run.times[END].tolist() == [50, 40]
    assert part.run.state[WAKE] == 1 << Unit.COMPUTE
    assert part.run.state[[PUSHED + queue for queue in TokenQueue]].tolist() == [1, 0, 0, 0]


def test_micro_ops_are_looked_at_on_demand() -> None:
    """The destination of the third micro-op is beyond ACC."""
    asm = assembler()
    asm.alu(AluOp.ADD, (0, 1), (Loop(3, dst=TINY.depth(MemoryId.ACC) - 1),), imm=1)
    for watched in (0, WATCH_INDICES):
        part = dispatched(asm)
        part.run.state[WATCH] = watched
        part.run.state[FAULT_AT] = -1
        assert begun(part, Unit.COMPUTE)
        assert part.run.state[FAULT_AT] == (0 if watched else -1)


def test_micro_ops_are_loaded_into_their_rectangle() -> None:
    asm = assembler()
    asm.load(MemoryId.UOP, sram=9, dram=0, columns=1)
    asm.load(MemoryId.UOP, sram=2, dram=1, rows=2, columns=2, stride=3, pad=(1, 1, 2, 1))
    part = dispatched(asm)
    run = part.run
    assert run.word.tolist() == [0, 1]
    run.words[:] = [11, 12, 13, 14, 15]
    run.memory.uop[:] = 7
    load_micro_ops(run, 1)
    width = 2 + 2 + 1
    expected = np.full(len(run.memory.uop), 7)
    expected[2 : 2 + 4 * width] = 0
    expected[2 + width + 2 : 2 + width + 4] = 12, 13
    expected[2 + 2 * width + 2 : 2 + 2 * width + 4] = 14, 15
    assert run.memory.uop.tolist() == expected.tolist()
    # A LOAD of UOP does it when it starts.
    run.memory.uop[:] = 7
    assert begun(part, Unit.COMPUTE)
    assert run.memory.uop[8:11].tolist() == [7, 11, 7]
