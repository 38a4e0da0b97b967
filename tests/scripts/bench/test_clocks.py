"""The table of the presets' clocks, and what docs/resources.md says of clock and area."""

from __future__ import annotations

import re

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import generate
from tandem.hw.synthesis.errors import DoesNotFitError
from tandem.hw.synthesis.nextpnr import Device
from tandem.hw.synthesis.routes import Route, Span, Timing
from tandem.scripts.bench.clocks import clock, row
from tandem.scripts.bench.resources import configurations
from tandem.scripts.bench.resources import row as resources_row
from tandem.scripts.resources import DEFAULT_FAMILIES, find_resources
from tests.scripts.bench.test_resources import documented

FITTING = ("block4", "tiny", "small8")


def test_a_row() -> None:
    path = (Span("core.load", 2.0, ("valid",)), Span("", 3.25, ("ready",)))
    slow, fast = Route(1, 80.04, path), Route(2, 90.0, path)
    timing = Timing(Device.ECP5_85, 6, (fast, slow))
    assert row("small8", load_config("small8"), timing) == "| small8 | 64 | 80.0 | 90.0 | `top` |"


def test_a_row_of_what_does_not_fit() -> None:
    error = DoesNotFitError("tandem", "85k", "MULT18X18D", 1305, 156)
    assert str(error).endswith("an ECP5 85k: it needs 1,305 MULT18X18D, the device has 156")
    assert row("pynq", load_config("pynq"), error) == (
        "| pynq | 256 | needs 1,305 MULT18X18D, has 156 | | |"
    )


def test_every_preset_is_in_the_document() -> None:
    for name, config in configurations():
        median, best, module = documented(name, config.macs, 3)
        if name in FITTING:
            assert float(best) >= float(median)
            assert module
        else:
            assert re.fullmatch(r"needs [\d,]+ \w+, has [\d,]+", median), name


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FITTING)
def test_the_clock_is_the_documents(name: str) -> None:
    config = load_config(name)
    timing = clock(config)
    assert isinstance(timing, Timing)
    median = float(documented(name, config.macs, 3)[0])
    assert timing.median.mhz >= 0.97 * median
    assert timing.best_mhz >= timing.median.mhz


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FITTING)
def test_the_area_is_the_documents(name: str) -> None:
    config = load_config(name)
    found = find_resources(generate(config), DEFAULT_FAMILIES, quiet=True)
    cells = resources_row(name, config, found).split("|")[3:-1]
    for cell, told in zip(cells, documented(name, config.macs, 8), strict=True):
        amount, limit = (int(text.replace(",", "")) for text in (cell, told))
        assert amount <= 1.01 * limit, (name, cells)
