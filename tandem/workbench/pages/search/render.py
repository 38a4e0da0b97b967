"""Renders a search's page as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from tandem.workbench.pages.search.figures import figures
from tandem.workbench.pages.search.page import SearchPage
from tandem.workbench.pages.template import render_template


def render(page: SearchPage) -> str:
    """The page as HTML. All text from the user is escaped."""
    rows = [("", point) for point in page.front] + [(one.name, one.point) for one in page.marked]
    return render_template(
        Path(__file__).with_name("page.html").read_text("utf-8"),
        page=page,
        rows=rows,
        figures=figures(page),
        command=page.command,
        versions=page.versions,
    )
