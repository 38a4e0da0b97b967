"""The check of the timing rules finds events that come a cycle early or late, and wrong counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import Alu, AluOp, Program
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.hw.timing import FORWARD_DISTANCE, pipeline_depth
from tandem.hw.topology import Unit
from tandem.sim.events import EventKind
from tandem.sim.result import Result
from tandem.sim.rtl.engine import RtlEngine
from tests.support.sim.issue_times import Slots, slots_of
from tests.support.sim.launching import launch
from tests.support.sim.programs import RandomProgram, random_program
from tests.support.sim.reference import Image
from tests.support.sim.timing_rules import TimingRules

SEED = 2
"""Of a program in which every operation of the ALU waits for a result somewhere."""


@dataclass(frozen=True)
class Run:
    """A random program, its result, and the memory before it."""

    drawn: RandomProgram
    result: Result

    def check(self, **changes: Any) -> None:
        """Check the rules for the run, or for a result that differs from the run's."""
        TimingRules(self.drawn.program, replace(self.result, **changes), self.drawn.image).check()


@pytest.fixture(scope="module")
def run() -> Run:
    config = load_config("tiny")
    drawn = random_program(config, SEED, 40)
    engine = RtlEngine(config, MEMORY_PRESETS["edge"])
    result, _ = launch(engine, drawn.program, drawn.image, events=True, max_cycles=100_000)
    engine.close()
    run = Run(drawn, result)
    run.check()
    return run


def test_the_program_has_stalls_of_the_pipeline(run: Run) -> None:
    """They delay ends, issues, and issues of instructions that have no such micro-op."""
    rules = TimingRules(run.drawn.program, run.result, run.drawn.image)
    loops, slots = rules.loops, slots_of(run.drawn.program, run.drawn.image)
    assert len(loops.stalls) > 10
    spans = {at: (rules.started[at] + 1, loops.last_issue[at]) for at in slots}
    lengths = {at: 1 + last - first for at, (first, last) in spans.items()}
    delayed = [slots[at] for at in slots if lengths[at] > len(slots[at])]
    waiting = [any(slot is not None and slot.waits_for for slot in content) for content in delayed]
    assert any(waiting)
    assert not all(waiting)
    tails = {at: loops.end[at] - loops.last_issue[at] for at in slots}
    delays = {tail - pipeline_depth(rules.config) for tail in tails.values()}
    assert delays > {0}
    assert any(delay % 2 for delay in delays)


@pytest.mark.parametrize("missing", load_config("tiny").operations)
def test_a_rule_without_stalls_is_found(
    run: Run, missing: AluOp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one operation: it waits for nothing."""

    def slots_without(program: Program, image: Image) -> dict[int, Slots]:
        slots = slots_of(program, image)
        for position, instruction in enumerate(program):
            if isinstance(instruction, Alu) and instruction.op is missing:
                slots[position] = [slot and replace(slot, waits_for=()) for slot in slots[position]]
        return slots

    monkeypatch.setattr("tests.support.sim.timing_rules.slots_of", slots_without)
    with pytest.raises(AssertionError, match=r"ends in|starts"):
        run.check()


@pytest.mark.parametrize("distance", [1, FORWARD_DISTANCE - 1, FORWARD_DISTANCE + 1])
def test_stalls_of_another_length_are_found(
    run: Run, distance: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_distance(config: HardwareConfig, *, custom: bool) -> int:
        return distance

    monkeypatch.setattr("tests.support.sim.issue_times.forward_distance", other_distance)
    with pytest.raises(AssertionError, match=r"ends in|starts"):
        run.check()


def test_a_store_that_ends_too_soon_is_found(run: Run) -> None:
    """With data, in less than six cycles: the acknowledgement of one beat, and a cycle more."""
    program, result, image = run.drawn.program, run.result, run.drawn.image
    stores = TimingRules(program, result, image).by_unit[Unit.STORE]
    assert len(stores) > 1
    for index in stores:
        rules = TimingRules(program, result, image)
        rules.ended[index] = rules.started[index] + (5 if rules.columns.x_size[index] else 1)
        with pytest.raises(AssertionError, match=f"^STORE {index} ends"):
            rules.check_ends()


@pytest.mark.parametrize("shift", [-1, 1])
@pytest.mark.parametrize("kind", [EventKind.DISPATCH, EventKind.START, EventKind.END])
def test_an_event_at_another_time_is_found(run: Run, kind: EventKind, shift: int) -> None:
    result = run.result
    for position, event in enumerate(result.events):
        if event.kind is not kind or event.queue is not None:
            continue
        if event.unit is Unit.STORE and kind is not EventKind.DISPATCH:
            continue  # The rules bound these by the bus's time.
        assert event.cycle is not None
        events = list(result.events)
        events[position] = replace(event, cycle=event.cycle + shift)
        with pytest.raises(AssertionError):
            run.check(events=tuple(events))


def test_counts_that_differ_are_found(run: Run) -> None:
    result = run.result
    assert result.cycles is not None
    assert result.units is not None
    with pytest.raises(AssertionError, match="cycles, last end"):
        run.check(cycles=result.cycles + 1)
    for unit, spent in result.units.items():
        for state in ("busy", "token", "memory"):
            wrong = replace(spent, **{state: getattr(spent, state) + 1})
            with pytest.raises(AssertionError, match=f"^{unit.name} "):
                run.check(units={**result.units, unit: wrong})
