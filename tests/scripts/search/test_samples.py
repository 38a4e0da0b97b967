"""The samples that come with Tandem, against synthesis of today's hardware."""

from __future__ import annotations

import pytest

from hw.area import estimate as area
from hw.config_files import load_config
from hw.synthesis import estimate as resources
from hw.synthesis.families import Family
from scripts.search.samples import measured


def test_an_area_is_that_of_todays_hardware() -> None:
    config = load_config("tiny-x")
    sample = next(known for known in area.samples() if known.config == config)
    found = measured(config, "area")
    assert found == {unit: getattr(sample, unit) for unit in found}


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_areas_of_all_samples() -> None:
    samples = area.samples()
    for sample in samples:
        found = measured(sample.config, "area")
        assert found == {unit: getattr(sample, unit) for unit in found}, sample.config
    assert len(samples) == 58


@pytest.mark.exhaustive
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("family", [Family.ECP5, Family.XC7])
def test_resources_of_the_smallest_samples(family: Family) -> None:
    """Of both kinds of machines that the family has: with requantisers and without."""
    mine = [sample for sample in resources.samples() if sample.family is family]
    mine.sort(key=lambda sample: sample.lut)
    kinds = {len(sample.config.features) == 3: sample for sample in reversed(mine)}
    assert len(kinds) == 2
    for sample in kinds.values():
        found = measured(sample.config, family.value)
        assert all(found[unit] == getattr(sample, unit) for unit in ("lut", "ff", "dsp", "bram"))
