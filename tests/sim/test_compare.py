"""Runs of two engines compared: the first difference of each kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, MemoryId, Program
from tandem.hw.topology import Unit
from tandem.sim.compare import Comparison, Difference, compare_runs
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Bytes, Launch
from tandem.sim.events import EventKind, EventTable
from tandem.sim.functional.engine import FunctionalEngine
from tandem.sim.memory import place_program
from tandem.sim.result import Result

TINY = load_config("tiny")
OUT_BYTES = TINY.element_bytes(MemoryId.OUT)
LATER = 1 << 40
FIRST_STORE, SECOND_STORE = 1, 2


def _program() -> Program:
    """A LOAD, and two STOREs: of rows 0 and 2, and of row 1 between them."""
    asm = Assembler(TINY)
    asm.load(MemoryId.ACC, sram=0, dram=0, columns=4, signals=Unit.STORE)
    asm.store(sram=0, dram=256, columns=1, rows=2, stride=2, waits_for=Unit.COMPUTE)
    asm.store(sram=3, dram=257, columns=1)
    asm.finish()
    return asm.build()


PROGRAM = _program()
IMAGE = np.arange(1 << 12, dtype=np.uint8)


def _run() -> tuple[Result, Bytes, Launch]:
    memory, address = place_program(IMAGE, PROGRAM)
    how = Launch(address=address, events=True)
    return CycleEngine(TINY).launch(PROGRAM, memory, how), memory, how


def _compared(changed: Result, *marked: int) -> Comparison:
    """The run compared with a changed result; the bytes at `marked` differ."""
    result, memory, how = _run()
    other = memory.copy()
    for at in marked:
        other[at] ^= 1
    return compare_runs(PROGRAM, how, (result, changed), (memory, other))


def _delayed(result: Result, *numbers: int) -> EventTable:
    """The events, some of them a long time later, in the order of time."""
    events = list(result.events)
    for number in numbers:
        events[number] = replace(events[number], cycle=LATER)
    return EventTable.of(sorted(events, key=lambda event: event.cycle or 0))


def test_a_run_equals_itself() -> None:
    result, *_ = _run()
    assert _compared(result) == Comparison(("cycle", "cycle"), True, ())


def test_the_earliest_event_that_differs_is_first() -> None:
    result, *_ = _run()
    for number, event in enumerate(result.events):
        late = replace(result, events=_delayed(result, *range(number, len(result.events))))
        found = _compared(late)
        assert found.first is not None
        assert len(found.differences) == 1
        assert found.first.values == (event.cycle, LATER)
        assert found.first.instruction in {
            same.instruction for same in result.events if same.cycle == event.cycle
        }


def test_an_event_names_its_instruction_unit_and_queue() -> None:
    result, *_ = _run()
    (number,) = (at for at, event in enumerate(result.events) if event.kind is EventKind.PUSH)
    cycle = result.events[number].cycle
    found = _compared(replace(result, events=_delayed(result, number)))
    text = "LOAD ACC sram 0 dram 0x000000 y_size 1 x_size 4 x_stride 4 push compute->store"
    event = "push compute->store"
    assert found.first == Difference(0, text, Unit.COMPUTE, event, (cycle, LATER))


@pytest.mark.parametrize("kept", [0, 3])
def test_a_missing_event_has_no_value(kept: int) -> None:
    result, *_ = _run()
    found = _compared(replace(result, events=result.events[:kept]))
    assert found.first is not None
    assert found.first.values == (result.events[kept].cycle, None)


def test_simultaneous_events_have_an_order() -> None:
    result, *_ = _run()
    found = _compared(replace(result, events=result.events[::-1]))
    assert found.first is not None
    assert found.first.values == (result.events[0].cycle, result.events[-1].cycle)


def test_cycles_and_counters() -> None:
    result, *_ = _run()
    assert result.cycles is not None
    assert result.units is not None
    cycles = result.cycles
    spent = result.units[Unit.STORE]
    units = {**result.units, Unit.STORE: replace(spent, memory=spent.memory + 1)}
    found = _compared(replace(result, cycles=cycles + 2, units=units))
    assert found.differences == (
        Difference(None, None, None, "cycles", (cycles, cycles + 2)),
        Difference(
            None, None, Unit.STORE, "cycles without memory", (spent.memory, spent.memory + 1)
        ),
    )


def test_a_byte_names_the_store_that_wrote_it() -> None:
    first, second = 256 * OUT_BYTES, 257 * OUT_BYTES
    result, memory, _ = _run()
    for marked, instruction, at in (
        ((first + 1,), FIRST_STORE, first + 1),
        ((second,), SECOND_STORE, second),
        ((second, second + OUT_BYTES + 3), FIRST_STORE, second + OUT_BYTES + 3),
        ((5, second), SECOND_STORE, second),
    ):
        found = _compared(result, *marked)
        assert found.first is not None
        assert (found.first.instruction, found.first.unit) == (instruction, Unit.STORE)
        assert found.first.event == f"byte at {at:#x}"
        assert found.first.values == (memory[at], memory[at] ^ 1)


def test_a_byte_that_nothing_stored() -> None:
    result, *_ = _run()
    found = _compared(result, 7)
    assert found.first == Difference(None, None, None, "byte at 0x7", (7, 6))


def test_without_time_bytes_alone_are_compared() -> None:
    result, memory, how = _run()
    other, _ = place_program(IMAGE, PROGRAM)
    timeless = FunctionalEngine(TINY).launch(PROGRAM, other, how)
    found = compare_runs(PROGRAM, how, (timeless, result), (other, memory))
    assert (found.engines, found.has_time, found.equal) == (("functional", "cycle"), False, True)
    memory[0] ^= 1
    assert not compare_runs(PROGRAM, how, (timeless, result), (other, memory)).equal
