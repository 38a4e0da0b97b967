"""Renders a tuning run's page as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from tandem.workbench.pages.template import render_template
from tandem.workbench.pages.tuning.figures import figures
from tandem.workbench.pages.tuning.page import TuningPage


def render(page: TuningPage) -> str:
    """The page as HTML. All text from the user's model and records is escaped."""
    return render_template(
        Path(__file__).with_name("page.html").read_text("utf-8"),
        page=page,
        figures=figures(page),
        command=page.command,
        versions=page.versions,
    )
