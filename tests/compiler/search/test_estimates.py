"""Limits of devices and areas."""

from __future__ import annotations

import pytest

from tandem.compiler.search.estimates import Estimator
from tandem.compiler.search.space import Limits
from tandem.hw.config_files import load_config
from tandem.hw.synthesis.clock import ClockModel
from tandem.hw.synthesis.clock import samples as clock_samples
from tandem.hw.synthesis.devices import DEVICES
from tandem.hw.synthesis.families import Family


@pytest.mark.parametrize(
    ("device", "machine", "fits"),
    [
        ("LFE5U-85F", "small8", True),
        ("LFE5U-85F", "tiny", True),
        # As docs/resources.md says: it needs 311 blocks of RAM, and this device has 208.
        ("LFE5U-85F", "pynq", False),
        ("LFE5U-25F", "small8", False),
        ("XC7Z020", "pynq", False),
        ("XC7Z045", "pynq", True),
        ("XCZU3EG", "pynq", True),
        ("XCZU7EV", "big32", False),
        ("XCVU9P", "big32", True),
    ],
)
def test_what_fits(device: str, machine: str, fits: bool) -> None:
    assert Estimator(Limits(DEVICES[device])).allowed(load_config(machine)) is fits


def test_an_area() -> None:
    pynq = load_config("pynq")
    assert Estimator(Limits(area=8.2e6)).allowed(pynq)
    assert not Estimator(Limits(area=7.9e6)).allowed(pynq)
    estimate = Estimator(Limits(area=1.0), mhz=50.0).estimate(pynq)
    assert (estimate.mhz, estimate.resources) == (50.0, None)


@pytest.mark.parametrize(
    ("device", "source"),
    [("LFE5U-85F", "model"), ("LFE5U-25F", "model"), ("XC7Z045", "assumed"), (None, "assumed")],
)
def test_the_source_of_the_clock(device: str | None, source: str) -> None:
    small8 = load_config("small8")
    limits = Limits(None if device is None else DEVICES[device])
    estimate = Estimator(limits).estimate(small8)
    assert estimate.clock_source == source
    if source == "model":
        assert estimate.mhz == pytest.approx(ClockModel(clock_samples()).mhz(small8), abs=0.05)
    else:
        assert estimate.mhz == 100.0
    given = Estimator(limits, mhz=125.0).estimate(small8)
    assert (given.mhz, given.clock_source) == (125.0, "given")


def test_every_device_is_of_a_family_that_is_synthesised() -> None:
    assert len(DEVICES) == 9
    assert {part.family for part in DEVICES.values()} == {*Family}
