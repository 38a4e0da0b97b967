"""Sketches as a template: no pattern, one choice, and schedules of traces."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.compiler.errors import Refusal, ReplayError
from tandem.compiler.plan.space import Space
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.evolution import replay
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.template import DEFAULT, SKETCHES
from tandem.compiler.tune.sketches.trace import SketchTrace
from tests.support.compiler.te.schedules import relu_of_sum

RULES = SketchRules(128, 16)
WORK = Computation.of(Schedule.of(relu_of_sum(64)).program)


def test_the_space_is_the_default_alone() -> None:
    assert (SKETCHES.name, SKETCHES.patterns, DEFAULT) == ("sketches", (), {})
    assert dict(SKETCHES.space(WORK, RULES).knobs) == {}
    match: Any = None
    with pytest.raises(Refusal, match=r"^sketches match no pattern: they schedule whole kernels$"):
        SKETCHES.bind(match, RULES)


def test_everything_fits() -> None:
    choices = Space({"x": (1, 2, 3)}).choices()
    assert SKETCHES.fits(WORK, choices, RULES).tolist() == [True] * 3
    assert SKETCHES.estimate(WORK, choices, RULES).tolist() == [1, 1, 1]


def test_schedules_of_traces() -> None:
    with pytest.raises(ReplayError, match="the trace does not decide"):
        SKETCHES.schedule(WORK, DEFAULT, RULES)
    names = ("s0.inline", "s1.tile.0", "s1.vector", "s1.lanes", "s1.unroll")
    choice: dict[str, int] = {}
    # Decisions are found by what is asked for.
    for _ in range(20):
        try:
            found = SKETCHES.schedule(WORK, choice, RULES)
            break
        except ReplayError as error:
            text = str(error)
            name = text.split("decide ")[1].split(":")[0]
            choice[name] = _first(text)
    else:
        raise AssertionError(names)
    trace = SketchTrace.of(choice)
    assert found == replay(WORK.start(), RULES, frozenset(), trace).schedule


def _first(text: str) -> Any:
    option = text.split(": ")[1].split(",")[0].split(" are")[0]
    return int(option) if option.lstrip("-").isdigit() else option
