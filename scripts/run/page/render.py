"""Renders a page as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from scripts.run.page.figures import figures
from scripts.run.page.layer_rows import rows, totals
from scripts.run.page.library import chart_library
from scripts.run.page.page import Page
from sim.why.causes import Cause
from sim.why.critical_path import EdgeKind

_HERE = Path(__file__).parent


def render(page: Page) -> str:
    """The page as HTML. All text from the user's model is escaped."""
    # Text is escaped by default; an undefined name in the template is an error.
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"whole": _whole, "share": _share, "times": _times}
    environment.filters |= {"short": _short, "milliseconds": _milliseconds}
    template = environment.from_string(_HERE.joinpath("page.html").read_text("utf-8"))
    return template.render(
        page=page,
        rows=rows(page),
        totals=totals(page),
        figures=figures(page),
        causes=tuple(Cause),
        kinds=tuple(EdgeKind),
        # Our own files and the chart library: no text of the user's model.
        style=Markup(_HERE.joinpath("page.css").read_text("utf-8")),
        library=Markup(chart_library()),
        script=Markup(_HERE.joinpath("page.js").read_text("utf-8")),
    )


_NONE = "\N{EN DASH}"


def _whole(value: int | None) -> str:
    return _NONE if value is None else f"{value:,}"


def _share(value: float | None) -> str:
    return _NONE if value is None else f"{value:.1%}"


def _times(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}\N{MULTIPLICATION SIGN}"


def _milliseconds(value: float) -> str:
    # From 999.5 on, three digits would need an exponent.
    return f"{value:.3g} ms" if value < 999.5 else f"{value:,.0f} ms"


def _short(value: int) -> str:
    """A number for a headline: up to 999.9, with an SI prefix."""
    scaled = float(value)
    for prefix in ("", "k", "M", "G", "T"):
        if scaled < 999.95 or prefix == "T":
            break
        scaled /= 1000
    return f"{scaled:,.1f} {prefix}" if prefix else f"{value} "
