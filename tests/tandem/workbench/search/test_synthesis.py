"""What the tools say of a machine takes the place of what models said."""

from __future__ import annotations

import json

import pytest

from tandem.compiler.search.estimates import Estimator
from tandem.compiler.search.learned import Learned
from tandem.compiler.search.space import Limits
from tandem.hw.config_files import load_config
from tandem.hw.synthesis.devices import DEVICES
from tandem.workbench.search.synthesis import synthesised


@pytest.mark.exhaustive
def test_area_and_resources_of_tiny() -> None:
    part = DEVICES["XC7Z020"]
    tiny = load_config("tiny")
    estimate = Estimator(Limits(part)).estimate(tiny)
    assert (estimate.area_source, estimate.clock_source) == ("model", "assumed")
    steps: list[str] = []
    done = synthesised(tiny, estimate, part, steps.append)
    found = done.estimate
    assert found.area_source == "synthesis"
    assert found.area == pytest.approx(estimate.area, rel=0.02)
    assert found.resources is not None
    assert estimate.resources is not None
    assert found.resources["dsp"] == estimate.resources["dsp"]
    assert found.resources["lut"] == pytest.approx(estimate.resources["lut"], rel=0.2)
    learned = Learned.of(done.samples)
    # Areas of tiny come with Tandem.
    assert learned.count <= len(done.samples) == 2
    # Only an ECP5 is placed and routed.
    assert (found.mhz, found.clock_source) == (estimate.mhz, "assumed")


@pytest.mark.exhaustive
def test_the_clock_of_tiny() -> None:
    part = DEVICES["LFE5U-85F"]
    tiny = load_config("tiny")
    done = synthesised(tiny, Estimator(Limits(part)).estimate(tiny), part, lambda step: None)
    found = done.estimate
    assert len(done.samples) == 3
    assert json.loads(done.samples[-1])["mhz"] == found.mhz
    assert found.clock_source == "route"
    assert 40 < found.mhz < 200
