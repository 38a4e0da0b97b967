"""Renders a run's page as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from tandem.sim.why.causes import Cause
from tandem.sim.why.critical_path import EdgeKind
from tandem.workbench.pages.run.figures import figures
from tandem.workbench.pages.run.layer_rows import rows, totals
from tandem.workbench.pages.run.page import Page
from tandem.workbench.pages.template import render_template
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
