"""The page of a search as text: its table, its charts, what is escaped."""

from __future__ import annotations

import html
import json
import re

from tandem.compiler.search.objectives import Objective
from tandem.workbench.pages.search.figures import figures, front_picture
from tandem.workbench.pages.search.page import Marked
from tandem.workbench.pages.search.render import render
from tests.support.compiler.search.search_points import point, search_page
from tests.support.scripts.cells import Cells

NASTY = """</script><b id="x">&'"{{ 7*7 }}<!--"""


def test_the_table() -> None:
    rows = Cells(render(search_page())).rows["machines"]
    assert [row[1] for row in rows[1:]] == ["5,000", "9,000", "7,000"]
    assert rows[3][0].startswith("pynq: 1x16x16, uop 15 inp 15 wgt 18 acc 17")
    # 281,600 of 5,000 x 256 products; one layer needs the array most, one the bus.
    assert rows[1][3:6] == ["22.0%", "array 1, bus 1", "900"]
    assert len({len(row) for row in rows}) == 1


def test_a_baseline_that_cannot_run() -> None:
    made = search_page(marked=(Marked("pynq", point(0, 10.0, "pynq")),))
    assert "too small" in Cells(render(made)).rows["machines"][3]


def test_every_chart_is_there() -> None:
    made = search_page()
    text = render(made)
    assert [figure.key for figure in figures(made)] == ["front", "progress"]
    for figure in figures(made):
        found = re.search(rf'id="spec-{figure.key}">(.*?)</script>', text)
        assert found is not None
        assert json.loads(found[1]) == figure.spec
        assert f'aria-label="{html.escape(figure.title)}"' in text


def test_the_front_chart_has_all_machines_that_run() -> None:
    spec = figures(search_page())[0].spec
    rows = [row for values in spec["datasets"].values() for row in values]
    assert {row["cycles"] for row in rows} == {9_000, 5_000, 9_500, 6_000, 7_000}
    assert {row["resources"] for row in rows} == {"1,000 lut, 29 dsp"}


def test_the_front_as_a_picture() -> None:
    text = front_picture(search_page(), "svg").decode()
    assert text.count('aria-roledescription="point"') == len(search_page().valid) + 1
    assert ">pynq<" in text
    assert front_picture(search_page(), "png").startswith(b"\x89PNG")


def test_progress_ends_with_the_whole_volume() -> None:
    found = search_page().progress()
    shares = [share for _, share in found]
    assert found[-1] == (4, 1.0)
    assert shares == sorted(shares)
    assert shares[0] < 1


def test_one_objective_has_no_front_chart() -> None:
    keys = [figure.key for figure in figures(search_page(objectives=(Objective.CYCLES,)))]
    assert keys == ["progress"]
    assert figures(search_page(points=(point(0, 1.0),), marked=())) == ()


def test_what_others_named_is_escaped() -> None:
    made = search_page(
        models=(NASTY,),
        space=NASTY,
        command=NASTY,
        versions=((NASTY, NASTY),),
        marked=(Marked(NASTY, point(7_000, 1_000.0)),),
    )
    text = render(made)
    found = Cells(text)
    assert found.rows["machines"][3][0].startswith(NASTY)
    assert not [one for one in found.elements if one[1].get("id") == "x"]
    assert "<!--" not in text
