"""The accelerator's cost model: features are relative to bounds, and codes change durations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.costs import FEATURE_NAMES, AcceleratorCosts
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.features import COUNTED, features
from tandem.compiler.machines.accelerator.templates.lower_bound import lower_bound
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.plan.space import Choices
from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tests.compiler.machines.accelerator.templates.test_conv2d_choices import WORKLOAD

TEMPLATE = Conv2dOnArray()
COST = MachineCost(HardwareConfig())
COSTS = AcceleratorCosts(COST)
CHOICES = Choices.of(
    [
        {
            **{"threads": 1, "along": "oc", "order": "outputs", "ic": 1, "oc": 4, "y": 2, "x": 14},
            **{"part": 1, "ky": 3, "image_slots": 2, "sum_slots": 2, "weight_slots": slots},
        }
        for slots in (2, 4)
    ]
)


def test_durations_of_codes() -> None:
    assert COSTS.of(WORKLOAD) == COST
    coded = replace(WORKLOAD, coding=Coding.BITS_4)
    assert COSTS.of(coded) == replace(COST, coding=Coding.BITS_4)


def test_features_are_counts_for_each_cycle_of_the_bound_and_the_estimate() -> None:
    bounds = lower_bound(TEMPLATE, WORKLOAD, CHOICES, COST)
    np.testing.assert_array_equal(COSTS.bounds(TEMPLATE, WORKLOAD, CHOICES), bounds)
    found = COSTS.features(TEMPLATE, WORKLOAD, CHOICES)
    plain = features(TEMPLATE, WORKLOAD, CHOICES, COST)
    assert found.shape == (2, len(FEATURE_NAMES))
    assert FEATURE_NAMES[-1] == "estimate"
    expected = plain.copy()
    expected[:, COUNTED] = plain[:, COUNTED] / np.stack([bounds] * plain[:, COUNTED].shape[1], 1)
    np.testing.assert_allclose(found[:, :-1], expected, rtol=1e-12)
    estimates = TEMPLATE.estimate(WORKLOAD, CHOICES, COST)
    np.testing.assert_allclose(found[:, -1], estimates / bounds, rtol=1e-12)
    assert (found[:, -1] >= 1).all()


def test_estimates_that_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def costs(
        _self: object, _template: object, _workload: Conv2dWorkload, choices: Choices
    ) -> object:
        return np.array([np.inf] + [1000.0] * (len(choices) - 1))

    monkeypatch.setattr(AcceleratorCosts, "costs", costs)
    found = COSTS.features(TEMPLATE, WORKLOAD, CHOICES)[:, -1]
    bounds = COSTS.bounds(TEMPLATE, WORKLOAD, CHOICES)
    assert found.tolist() == [-1, 1000 / bounds[1]]
