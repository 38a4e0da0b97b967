"""The table of the presets' resources."""

from __future__ import annotations

import re
from pathlib import Path

from hw.config_files import load_config, preset_names
from hw.synthesis.families import Family
from hw.synthesis.resources import Resources
from scripts.bench.resources import configurations, row

DOCUMENT = Path(__file__).parents[3] / "ARCHITECTURE.md"


def test_a_row() -> None:
    xc7 = Resources(Family.XC7, lut=1234, lutram=5, ff=6, dsp=7, bram=8, memories=())
    ecp5 = Resources(Family.ECP5, lut=1, lutram=0, ff=2, dsp=3, bram=4000, memories=())
    assert row("pynq", load_config("pynq"), (xc7, ecp5)) == (
        "| pynq | 256 | 1,234 | 6 | 7 | 8 | 1 | 2 | 3 | 4,000 |"
    )


def test_every_preset_is_in_the_document() -> None:
    text = DOCUMENT.read_text()
    wanted = dict(configurations())
    assert {config.name for config in wanted.values()} == set(preset_names())
    for name, config in wanted.items():
        amounts = re.search(rf"^\| {re.escape(name)} \| {config.macs:,} \|(.*)\|$", text, re.M)
        assert amounts is not None, name
        assert re.fullmatch(r"( [\d,]+ \|){7} [\d,]+ ", amounts[1]), name
