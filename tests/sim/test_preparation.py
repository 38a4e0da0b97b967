"""Engines compile before their clock runs."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from tandem.hw.config_files import load_config
from tandem.sim.cycle import engine as cycle
from tandem.sim.engine import Engine
from tandem.sim.functional import engine as functional
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program

TINY = load_config("tiny")


@pytest.mark.parametrize(
    ("make", "modules", "data"),
    [
        (functional.FunctionalEngine, [functional], True),
        (cycle.CycleEngine, [functional, cycle], True),
        (cycle.CycleEngine, [functional, cycle], False),
    ],
)
def test_compilation_is_no_part_of_the_time(
    make: Callable[..., Engine],
    modules: list[ModuleType],
    data: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that is compiled is prepared before the first look at the clock, and once."""
    events: list[str] = []

    def prepare(function: Callable[..., object], *_: object) -> None:
        events.append(function.__name__)

    def clock() -> float:
        events.append("clock")
        return float(len(events))

    for module in modules:
        monkeypatch.setattr(module, "prepare", prepare)
        monkeypatch.setattr(module, "perf_counter", clock)
    drawn = random_program(TINY, 1, 10)
    engine = make(TINY)
    launch(engine, drawn.program, drawn.image, data=data)
    prepared = [event for event in events if event != "clock"]
    wanted = ["run_slice"] * data + ["run_program"] * (make is cycle.CycleEngine)
    assert prepared == wanted
    assert events[: len(wanted)] == wanted
    launch(engine, drawn.program, drawn.image, data=data)
    assert [event for event in events if event != "clock"] == wanted
