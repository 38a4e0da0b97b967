"""Renders templates of pages: the frame that all share, with its style and its scripts."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from tandem.workbench.pages.library import chart_library

_HERE = Path(__file__).parent
_SHARED = ("frame.html", "parts.html")
NONE = "\N{EN DASH}"
"""An unknown figure."""


def render_template(template: str, **values: object) -> str:
    """A page as one self-contained HTML file; all text among the values is escaped.

    Parameters
    ----------
    template
        A Jinja template that extends `frame.html`, which uses the values `command`, the command
        line that made the page, and `versions`, names and versions of tools.
    """
    shared = {name: _HERE.joinpath(name).read_text("utf-8") for name in _SHARED}
    # Text is escaped by default; an undefined name in the template is an error.
    environment = Environment(
        loader=DictLoader(shared),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"whole": whole, "share": share, "times": times}
    environment.filters |= {"short": short, "milliseconds": milliseconds, "cost": cost}
    return environment.from_string(template).render(
        # Our own files and the chart library: no text of the user's.
        style=Markup(_HERE.joinpath("page.css").read_text("utf-8")),
        library=Markup(chart_library()),
        script=Markup(_HERE.joinpath("page.js").read_text("utf-8")),
        **values,
    )


def whole(value: int | None) -> str:
    """An integer with thousands separators."""
    return NONE if value is None else f"{value:,}"


def cost(value: float) -> str:
    """Cycles; infinite ones are unknown."""
    return f"{value:,.0f}" if isfinite(value) else NONE


def share(value: float | None) -> str:
    """A fraction as a percentage."""
    return NONE if value is None else f"{value:.1%}"


def times(value: float | None) -> str:
    """A factor."""
    return NONE if value is None else f"{value:.2f}\N{MULTIPLICATION SIGN}"


def milliseconds(value: float) -> str:
    """A time with three digits, or without a fraction."""
    # From 999.5 on, three digits would need an exponent.
    return f"{value:.3g} ms" if value < 999.5 else f"{value:,.0f} ms"


def short(value: int) -> str:
    """A number for a headline: up to 999.9, with an SI prefix."""
    scaled = float(value)
    for prefix in ("", "k", "M", "G", "T"):
        if scaled < 999.95 or prefix == "T":
            break
        scaled /= 1000
    return f"{scaled:,.1f} {prefix}" if prefix else f"{value} "
