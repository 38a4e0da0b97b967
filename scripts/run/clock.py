"""`--clock`: the clock of a run, which the user names."""

from __future__ import annotations

import math

import typer


def parse_clock(text: str) -> float:
    """A clock in MHz: a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{text!r} is no clock in MHz: a number above 0, such as 125")
    return value
