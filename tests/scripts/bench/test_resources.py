"""The table of the presets' resources."""

from __future__ import annotations

import re
from pathlib import Path

from tandem.hw.config_files import load_config, preset_names
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.resources import Resources
from tandem.scripts.bench.resources import configurations, row

DOCUMENT = Path(__file__).parents[3] / "docs" / "resources.md"


def documented(name: str, macs: int, columns: int) -> list[str]:
    """The cells of a preset's row, in the table of docs/resources.md that has so many columns."""
    rows = re.findall(rf"^\| {re.escape(name)} \| {macs:,} \|(.*)\|$", DOCUMENT.read_text(), re.M)
    (cells,) = [cells for cells in (found.split("|") for found in rows) if len(cells) == columns]
    return [cell.strip() for cell in cells]


def test_a_row() -> None:
    xc7 = Resources(Family.XC7, lut=1234, lutram=5, ff=6, dsp=7, bram=8, memories=())
    ecp5 = Resources(Family.ECP5, lut=1, lutram=0, ff=2, dsp=3, bram=4000, memories=())
    assert row("pynq", load_config("pynq"), (xc7, ecp5)) == (
        "| pynq | 256 | 1,234 | 6 | 7 | 8 | 1 | 2 | 3 | 4,000 |"
    )


def test_every_preset_is_in_the_document() -> None:
    wanted = dict(configurations())
    base = {name for name in preset_names() if not load_config(name).features}
    assert {config.name for config in wanted.values()} == base
    for name, config in wanted.items():
        for amount in documented(name, config.macs, 8):
            assert re.fullmatch(r"[\d,]+", amount), name
