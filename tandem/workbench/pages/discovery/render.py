"""Renders the page of a search for operations as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from tandem.hw.alu_terms import print_term
from tandem.workbench.pages.discovery.figures import figures
from tandem.workbench.pages.discovery.page import DiscoveryPage
from tandem.workbench.pages.template import render_template


def render(page: DiscoveryPage) -> str:
    """The page as HTML. All text from the user is escaped."""
    return render_template(
        Path(__file__).with_name("page.html").read_text("utf-8"),
        page=page,
        found=page.found,
        figures=figures(page),
        term=print_term,
        command=page.command,
        versions=page.versions,
    )
