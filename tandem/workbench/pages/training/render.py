"""Renders a training's page as one self-contained HTML file."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from tandem.workbench.byte_sizes import shown_bytes
from tandem.workbench.pages.template import render_template
from tandem.workbench.pages.training.figures import figures
from tandem.workbench.pages.training.page import TrainingPage

_TOOLS = ("tandem-workbench", "numpy", "llvmlite")


def render(page: TrainingPage) -> str:
    """The page as HTML. All text from the user's model is escaped."""
    return render_template(
        Path(__file__).with_name("page.html").read_text("utf-8"),
        page=page,
        last=page.epochs[-1] if len(page.epochs) else None,
        figures=figures(page),
        command=page.command,
        memory=shown_bytes(page.memory.run.total),
        versions=tuple((tool, version(tool)) for tool in _TOOLS),
    )
