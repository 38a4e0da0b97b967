"""The page in a browser: no message on the console, and every chart drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.workbench.pages.tuning.figures import figures
from tandem.workbench.pages.tuning.page import TuningPage
from tandem.workbench.pages.write import write_page
from tests.support.scripts.browser import RenderedPage, charts, find_chromium, marks, show
from tests.support.workbench.pages.tuning_pages import task_report, tuning_page, unmeasured

CHROMIUM = find_chromium()
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: .ci/packages installs it"
)
NASTY = """</script><b id="x">&'"{{ 7*7 }}<!--"""


def shown(made: TuningPage, folder: Path) -> RenderedPage:
    assert CHROMIUM is not None
    write_page(made, folder / "page.html")
    return show(CHROMIUM, folder / "page.html", folder / "profile")


@pytest.mark.every(2)
@needs_browser
@pytest.mark.parametrize(
    "made",
    [
        tuning_page(),
        tuning_page(tasks=(task_report(NASTY), unmeasured("b")), title=NASTY),
        tuning_page(tasks=(task_report("a", bound=1_000.0, default=1_000.0, certified=True),)),
        tuning_page(tasks=(unmeasured("a"),), default=None, best=None),
    ],
    ids=["all", "nasty", "no gap", "nothing measured"],
)
def test_pages(made: TuningPage, tmp_path: Path) -> None:
    found = shown(made, tmp_path)
    assert found.console == ()
    drawings = charts(found.document)
    assert [*drawings] == [figure.key for figure in figures(made)]
    assert all(map(marks, drawings.values()))
    assert f'data-drawn="{len(drawings)}"' in found.document


@needs_browser
def test_what_is_drawn(tmp_path: Path) -> None:
    drawings = charts(shown(tuning_page(), tmp_path).document)
    for label in ("stem", "head", "25.00%", "0.12%", "certified", "not certified"):
        assert f">{label}</text>" in drawings["gaps"]
    for label in ("xgboost", "random", "bound 800", "trials"):
        assert f">{label}</text>" in drawings["task-1"]
    # A bar, a tick and a number for each task.
    assert marks(drawings["gaps"]) == 6
    # The line of exact estimates, and two points.
    assert marks(drawings["predicted"]) == 3
