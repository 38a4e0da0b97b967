"""The check of the timing rules finds events that come a cycle early or late, and wrong counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from hw.config_files import load_config
from hw.isa import AluOp
from hw.memory_model import MEMORY_PRESETS
from hw.timing import EARLY_OPS, pipeline_depth
from hw.topology import Unit
from sim.result import EventKind, Result
from sim.rtl.engine import RtlEngine
from tests.support.issue_times import slots_of
from tests.support.launching import launch
from tests.support.programs import RandomProgram, random_program
from tests.support.timing_rules import TimingRules

SEED = 3


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
    assert any(slot is not None and slot.early for content in delayed for slot in content)
    assert any(all(slot is None or not slot.early for slot in content) for content in delayed)
    tails = {at: loops.end[at] - loops.last_issue[at] for at in slots}
    assert {tail - pipeline_depth(rules.config) for tail in tails.values()} >= {0, 1}


@pytest.mark.parametrize("missing", EARLY_OPS)
def test_a_rule_without_stalls_is_found(
    run: Run, missing: AluOp, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = tuple(op for op in EARLY_OPS if op is not missing)
    monkeypatch.setattr("tests.support.issue_times.EARLY_OPS", rest)
    with pytest.raises(AssertionError, match=r"ends in|starts"):
        run.check()


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
