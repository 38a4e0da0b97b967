"""Tables of which nothing is cut off."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

__all__ = ["wide_console"]

UNBOUNDED = 10_000
"""Columns of a terminal that is wide enough for any table."""


def wide_console(table: Table) -> Console:
    """A console that has room for the table: a number that is cut off cannot be read."""
    console = Console(highlight=False, markup=False)
    unbounded = console.options.update(width=UNBOUNDED)
    console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    return console
