"""`tandem.published`: each figure has its conditions and its source."""

from __future__ import annotations

import json
from pathlib import Path

import tandem
from tandem.workbench.published import figures


def test_each_row_has_a_source() -> None:
    table = tandem.published()
    assert len(table) >= 3
    for row in table:
        assert all(row[name] for name in table.names)
        assert str(row["url"]).startswith("https://")
    assert len({(row["system"], row["what"]) for row in table}) == len(table)


def test_the_file_has_nothing_else() -> None:
    rows = json.loads(Path(figures.__file__).with_name("figures.json").read_text())
    assert {tuple(row) for row in rows} == {tandem.published().names}


def test_the_figure_of_latency_hiding() -> None:
    shares = [row["value"] for row in tandem.published() if "latency hiding" in str(row["what"])]
    assert shares == [0.70, 0.88]
