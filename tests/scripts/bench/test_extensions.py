"""The benchmark of extensions: its rows, its picture, and the table that the document shows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tandem.hw.features import Feature
from tandem.scripts.bench import extensions
from tandem.scripts.bench.extension_bars import draw
from tandem.scripts.bench.extensions import MEMORIES, VARIANTS, Row, extended, heading, rows
from tandem.workbench.errors import WrongResultError
from tandem.workbench.utilization import ConvLayer

DOCUMENT = Path(__file__).parents[3] / "docs" / "extensions.md"
NAMES = [name for name, _ in VARIANTS]


def test_variants() -> None:
    assert NAMES == ["none", "overwrite", "requantise", "input_operands", "all"]
    assert extended("tiny", frozenset(Feature)).features == frozenset(Feature)


def test_a_row_and_its_heading() -> None:
    cycles = Row("all", (6_675_119, 7_000_000), (7_400_000, 12_000_000))
    assert str(cycles) == "| all | 6,675,119 | 7,000,000 | 7,400,000 | 12,000,000 |"
    whole = Row("all", (1, 2), (3, 4), (22_164, 5, 353, 6), 81.25)
    assert str(whole) == "| all | 1 | 2 | 3 | 4 | 22,164 | 5 | 353 | 6 | 81.2 |"
    for row, costs in ((cycles, False), (whole, True)):
        names, rule = heading(costs).splitlines()
        assert names.count("|") == rule.count("|") == str(row).count("|")


@pytest.mark.exhaustive
def test_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "MACHINE", "small8")
    monkeypatch.setattr(extensions, "NETWORK", "digits")
    monkeypatch.setattr(extensions, "RESNET18", [ConvLayer("a", 8, 8, 8, 8, 1, 1, 0)])
    monkeypatch.setattr(extensions, "VARIANTS", (VARIANTS[0], VARIANTS[-1]))
    none, everything = rows("cycle", costs=False)
    assert (none.name, everything.name) == ("none", "all")
    assert not none.resources
    for before, after in zip(none.network, everything.network, strict=True):
        assert after < before


def test_a_network_that_differs_is_an_error() -> None:
    values = {"y": np.arange(3)}
    extensions._check("all", "fast", values, values)
    with pytest.raises(WrongResultError, match="with extensions all on memory edge: output y"):
        extensions._check("all", "edge", {"y": np.arange(3) + 1}, values)


def test_the_picture_has_every_bar() -> None:
    bars = [
        (name, dict.fromkeys(MEMORIES, 7_000_000 + number)) for number, name in enumerate(NAMES)
    ]
    text = draw(bars, "resnet18").decode()
    for name in (*NAMES, *MEMORIES):
        assert f">{name}<" in text


def test_every_variant_is_in_the_document() -> None:
    text = DOCUMENT.read_text()
    wanted = heading(costs=False).splitlines()[0]
    assert wanted in text
    table = text[text.index(wanted) :].split("\n\n")[0].splitlines()[2:]
    assert [row.split("|")[1].strip() for row in table] == NAMES
    for row in table:
        assert all(re.fullmatch(r"[\d,.]+", cell.strip()) for cell in row.split("|")[2:-1]), row
