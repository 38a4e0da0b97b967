"""FPGA resources of machines that the model has not seen."""

from __future__ import annotations

from statistics import median

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.synthesis.estimate import ResourceModel, multiplier_blocks, resource_model, samples
from tandem.hw.synthesis.families import Family


@pytest.mark.parametrize("family", [Family.ECP5, Family.XC7])
def test_machines_that_were_left_out(family: Family) -> None:
    found = samples()
    errors: dict[str, list[float]] = {"lut": [], "ff": []}
    for at, sample in enumerate(found):
        if sample.family is family:
            model = ResourceModel(family, [*found[:at], *found[at + 1 :]])
            guess = model.resources(sample.config)
            for unit, of in errors.items():
                of.append(abs(guess[unit] / getattr(sample, unit) - 1))
    assert len(errors["lut"]) > 8
    assert median(errors["lut"]) < 0.05
    assert median(errors["ff"]) < 0.05
    assert max(errors["lut"] + errors["ff"]) < 0.3


def test_multiplier_blocks_are_exact() -> None:
    for sample in samples():
        assert multiplier_blocks(sample.config) == sample.dsp


def test_ultrascale_has_the_model_of_the_7_series() -> None:
    config = HardwareConfig()
    found = resource_model(Family.XCUP).resources(config)
    assert found == resource_model(Family.XC7).resources(config)
