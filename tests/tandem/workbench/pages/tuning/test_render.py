"""The page as text: its table, its summary, what is escaped, that it needs nothing else."""

from __future__ import annotations

import html
import json
import re

from tandem.workbench.pages.tuning.figures import figures
from tandem.workbench.pages.tuning.page import FeatureGain, Point, Search
from tandem.workbench.pages.tuning.render import render
from tests.support.scripts.cells import Cells
from tests.support.workbench.pages.tuning_pages import task_report, tuning_page, unmeasured

TIMES, NONE = "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"
NASTY = """</script><b id="x">&'"{{ 7*7 }}<!--"""


def test_the_table() -> None:
    table = Cells(render(tuning_page())).rows["tasks"]
    assert table[1] == [
        *("1", "stem", "conv2d 1x2x3x4 * 5x6x7x8 /2", "2", "5", "1,234", "1,000", f"1.23{TIMES}"),
        *("800", "25.0%", "no", "4,321", "5", "17", "x=1 y=2"),
    ]
    assert table[2][5:11] == ["801", "801", f"1.00{TIMES}", "800", "0.1%", "yes"]
    assert len({len(row) for row in table}) == 1


def test_a_task_without_a_measurement() -> None:
    made = tuning_page(tasks=(unmeasured("a"),), default=None, best=None)
    table = Cells(render(made)).rows["tasks"]
    assert table[1][5:10] == [NONE] * 5
    assert figures(made) == ()


def test_the_summary() -> None:
    pattern = r'class="card ?\w*"><b>(.*?)</b><span>(.*?)</span>(?:<small>(.*?)</small>)?'
    assert re.findall(pattern, render(tuning_page())) == [
        ("2,801", "cycles", "3,269 by the default choices"),
        (f"1.17{TIMES}", "faster", ""),
        ("10", "trials", "of 2 layers in 13 s"),
        ("1 of 2", "certified", "the best, or within 0.5 % of it"),
    ]


def test_every_chart_is_there() -> None:
    made = tuning_page()
    text = render(made)
    for figure in figures(made):
        found = re.search(rf'id="spec-{figure.key}">(.*?)</script>', text)
        assert found is not None
        assert json.loads(found[1]) == figure.spec
        assert f'aria-label="{html.escape(figure.title)}"' in text


def test_charts() -> None:
    assert [figure.key for figure in figures(tuning_page())] == [
        *("gaps", "predicted", "task-1", "task-2")
    ]


def test_features_are_bars_with_their_parts_of_the_gain() -> None:
    made = tuning_page(gains=(FeatureGain("threads size", 0.75), FeatureGain("estimate", 0.25)))
    (figure,) = [figure for figure in figures(made) if figure.key == "features"]
    (rows,) = figure.spec["datasets"].values()
    assert rows == [
        {"feature": "threads size", "gain": 0.75, "text": "75.0%"},
        {"feature": "estimate", "gain": 0.25, "text": "25.0%"},
    ]


def test_what_others_named_is_escaped() -> None:
    nasty = task_report(
        NASTY,
        workload=NASTY,
        choice=NASTY,
        searches=(Search(NASTY, (1_000.0,)),),
        points=(Point(1_000.0, 1_000.0, NASTY),),
    )
    made = tuning_page(
        title=NASTY, tasks=(nasty,), command=NASTY, explorer=NASTY, versions=((NASTY, NASTY),)
    )
    text = render(made)
    found = Cells(text)
    assert found.rows["tasks"][1][1:3] == [NASTY, NASTY]
    assert not [one for one in found.elements if one[1].get("id") == "x"]
    assert {tag for tag, _ in found.elements} == {
        tag for tag, _ in Cells(render(tuning_page())).elements
    }
    assert "<!--" not in text


def test_nothing_is_fetched() -> None:
    for tag, given in Cells(render(tuning_page())).elements:
        assert tag not in ("link", "img", "iframe")
        assert "src" not in given
        assert (given.get("href") or "#").startswith("#")


def test_the_same_page_is_the_same_text() -> None:
    assert render(tuning_page()) == render(tuning_page())
