"""Renders a run's page as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from tandem.scripts.page.template import render_template
from tandem.scripts.run.page.figures import figures
from tandem.scripts.run.page.layer_rows import rows, totals
from tandem.scripts.run.page.page import Page
from tandem.sim.why.causes import Cause
from tandem.sim.why.critical_path import EdgeKind
from tandem.workbench.sqnr import ratio_text


def render(page: Page) -> str:
    """The page as HTML. All text from the user's model is escaped."""
    return render_template(
        Path(__file__).with_name("page.html").read_text("utf-8"),
        page=page,
        rows=rows(page),
        totals=totals(page),
        figures=figures(page),
        ratio=ratio_text,
        causes=tuple(Cause),
        kinds=tuple(EdgeKind),
        command=page.command,
        versions=page.versions,
    )
