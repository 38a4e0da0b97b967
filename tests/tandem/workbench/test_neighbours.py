"""Choices beside a layer's: which they are, and what they cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.tasks import Task
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.neighbours import ChoiceCost, neighbourhood, settings_beside
from tandem.workbench.utilization.conv_layers import parse_layer
from tandem.workbench.utilization.tasks import tasks_of_layers

DEVICE = Accelerator(load_config("small8"), MEMORY_PRESETS["edge"])
(TASK,) = tasks_of_layers([parse_layer("a=6,6,16,16,3,1,1")], DEVICE, 1)


def with_choice(*, wide: bool) -> Task:
    """The task with a choice from the middle of one of its spaces."""
    found = Candidates.of(TASK.target, TASK.template, TASK.workload, wide=wide)
    return replace(TASK, default=found.choice(len(found) // 2))


def differences(choice: Choice, other: Choice) -> list[str]:
    return [knob for knob, setting in choice.items() if other[knob] != setting]


@pytest.mark.parametrize("wide", [False, True])
def test_settings_beside_are_those_of_the_whole_space(wide: bool) -> None:
    task = with_choice(wide=wide)
    found = Candidates.of(task.target, task.template, task.workload, wide=wide)
    every = [found.choice(row) for row in range(len(found))]
    beside = settings_beside(task)
    assert list(beside) == list(task.default)
    for knob, settings in beside.items():
        fitting = {one[knob] for one in every if differences(task.default, one) == [knob]}
        assert set(settings) <= fitting
        own = task.default[knob]
        if isinstance(own, str) or len(fitting) < 4:
            assert set(settings) == fitting
        else:
            numbers = [number for number in fitting if not isinstance(number, str)]
            below = [number for number in numbers if number < own]
            above = [number for number in numbers if number > own]
            assert list(settings) == sorted(below)[-1:] + sorted(above)[:1]


def test_of_many_settings_the_next_ones_are_beside() -> None:
    """One below and one above, in their order; of few settings, and of texts, all others."""
    (large,) = tasks_of_layers([parse_layer("a=12,12,48,48,3,1,1")], DEVICE, 1)
    found = Candidates.of(large.target, large.template, large.workload)
    choice = next(
        one for one in map(found.choice, range(len(found))) if one["x"] == 3 and one["oc"] == 1
    )
    task = replace(large, default={**choice})
    every = [found.choice(row) for row in range(len(found))]
    along_x = sorted(one["x"] for one in every if differences(choice, one) == ["x"])
    assert len(along_x) >= 4
    beside = settings_beside(task)["x"]
    assert list(beside) == [2, 4]
    assert {2, 4} <= {*along_x}


def test_costs_are_those_that_the_tuner_measures() -> None:
    steps: list[str] = []
    found = neighbourhood(DEVICE, TASK, steps.append)
    layer = DEVICE.layer(TASK)
    assert found.cost.cycles == cycles_of(layer, TASK.default, np.inf).cost
    assert 0 < found.bound <= found.cost.cycles
    assert found.neighbours
    for beside in found.neighbours:
        assert isinstance(beside.cost, ChoiceCost)
        choice = {**TASK.default, beside.knob: beside.setting}
        assert differences(TASK.default, choice) == [beside.knob]
        assert beside.cost.cycles == cycles_of(layer, choice, np.inf).cost
        assert sum(beside.cost.causes.values()) == beside.cost.cycles
        assert beside.cost.stored >= 6 * 6 * 16
    assert steps == ["a", *(f"{each.knob}={each.setting}" for each in found.neighbours)]
    shown = {each.knob for each in found.neighbours}
    assert shown.isdisjoint(found.alone)
    assert shown | {*found.alone} == set(TASK.default)


def test_a_neighbour_that_cannot_be_compiled_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = {knob: () for knob in TASK.default} | {"threads": (64,)}
    monkeypatch.setattr("tandem.workbench.neighbours.settings_beside", lambda task: beside)
    (only,) = neighbourhood(DEVICE, TASK).neighbours
    assert isinstance(only.cost, str)
    assert "Error: " in only.cost
    assert only.as_json() == {"knob": "threads", "setting": 64, "error": only.cost}
