"""What `--explorer exact` certifies is the best of its space: a small layer, all of its choices."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tandem.api.schedule_tuning import tune
from tandem.compiler.tune.candidates import Candidates
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.utilization.conv_layers import parse_layer
from tandem.workbench.utilization.tasks import tasks_of_layers

ONE_TILE = (1, 2, 8, 8, 1, 1, 0)
DEVICE = Accelerator(load_config("small8"), MEMORY_PRESETS["fast"])


@cache
def least(wide: bool) -> float:
    """The cycles of the fastest choice of a space, all of which are measured."""
    (task,) = tasks_of_layers([parse_layer(f"a={','.join(map(str, ONE_TILE))}")], DEVICE, 0)
    candidates = Candidates.of(task.target, task.template, task.workload, wide=wide)
    layer = DEVICE.layer(task)
    costs = [
        cycles_of(layer, candidates.choice(row), np.inf).cost for row in range(len(candidates))
    ]
    assert (np.array(costs) >= candidates.bounds).all()
    return min(costs)


@pytest.mark.parametrize("space", ["base", pytest.param("wide", marks=pytest.mark.exhaustive)])
def test_the_best_of_all(space: str) -> None:
    tuned = tune(layers={"a": ONE_TILE}, machine="small8", explorer="exact", space=space)
    assert tuned.certified
    assert tuned.best == least(space == "wide")


@pytest.mark.exhaustive
def test_neither_space_contains_the_other() -> None:
    """A layer that is one small tile is faster in the base space, as docs/tuner.md says."""
    assert (least(False), least(True)) == (129, 158)
