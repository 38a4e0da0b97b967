"""The page of a search for operations as text: its tables, its charts, what is escaped."""

from __future__ import annotations

import json
import re

from tandem.workbench.pages.discovery.figures import figures
from tandem.workbench.pages.discovery.page import DiscoveryPage
from tandem.workbench.pages.discovery.render import render
from tests.support.scripts.cells import Cells
from tests.support.workbench.found_operations import found_operations

NASTY = """</script><b id="x">&'"{{ 7*7 }}<!--"""


def page(model: str = "digits") -> DiscoveryPage:
    return DiscoveryPage(found_operations(model), "fast", f"tandem discover {model}")


def test_the_tables() -> None:
    rows = Cells(render(page())).rows
    assert rows["operations"][1][:5] == [
        "ADD_SHR",
        "int32(a + b) >> shift",
        "shift uint5",
        "int32(int32(a + b) >> shift)",
        "proved",
    ]
    assert rows["models"][1] == ["digits", "20.0%", "1,000", "900", "0.900", "800", "50.0%"]
    assert rows["models"][2][0] == "other, held out"
    assert rows["passes"][1][:6] == ["digits", "60", "20", "30", "110", "10"]
    assert "no more than 25 can be saved" in rows["passes"][1][6]
    assert rows["dropped"][1] == ["parameters of 19 bits", "2"]


def test_every_chart_is_there() -> None:
    text = render(page())
    assert [figure.key for figure in figures(page())] == ["front", "networks"]
    for figure in figures(page()):
        found = re.search(rf'id="spec-{figure.key}">(.*?)</script>', text)
        assert found is not None
        assert json.loads(found[1]) == figure.spec


def test_texts_are_escaped() -> None:
    text = render(page(NASTY))
    assert NASTY not in text
    assert '<b id="x">' not in text
