"""The check of the timing rules finds events that come a cycle early or late, and wrong counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hw.config_files import load_config
from hw.isa import Program
from hw.memory_model import MEMORY_PRESETS
from hw.topology import Unit
from sim.result import EventKind, Result
from sim.rtl.engine import RtlEngine
from tests.support.launching import launch
from tests.support.programs import random_program
from tests.support.timing_rules import TimingRules

Run = tuple[Program, Result]


@pytest.fixture(scope="module")
def run() -> Run:
    config = load_config("tiny")
    drawn = random_program(config, 3, 40)
    engine = RtlEngine(config, MEMORY_PRESETS["edge"])
    result, _ = launch(engine, drawn.program, drawn.image, events=True, max_cycles=100_000)
    engine.close()
    TimingRules(drawn.program, result).check()
    return drawn.program, result


@pytest.mark.parametrize("shift", [-1, 1])
@pytest.mark.parametrize("kind", [EventKind.DISPATCH, EventKind.START, EventKind.END])
def test_an_event_at_another_time_is_found(run: Run, kind: EventKind, shift: int) -> None:
    program, result = run
    for position, event in enumerate(result.events):
        if event.kind is not kind or event.queue is not None:
            continue
        if event.unit is Unit.STORE and kind is not EventKind.DISPATCH:
            continue  # The rules bound these by the bus's time.
        assert event.cycle is not None
        events = list(result.events)
        events[position] = replace(event, cycle=event.cycle + shift)
        with pytest.raises(AssertionError):
            TimingRules(program, replace(result, events=tuple(events))).check()


def test_counts_that_differ_are_found(run: Run) -> None:
    program, result = run
    assert result.cycles is not None
    assert result.units is not None
    with pytest.raises(AssertionError, match="cycles, last end"):
        TimingRules(program, replace(result, cycles=result.cycles + 1)).check()
    for unit, spent in result.units.items():
        for state in ("busy", "token", "memory"):
            wrong = replace(spent, **{state: getattr(spent, state) + 1})
            with pytest.raises(AssertionError, match=f"^{unit.name} "):
                TimingRules(program, replace(result, units={**result.units, unit: wrong})).check()
