"""Tables for people, as wide as the terminal: text folds, and no number is cut off."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table

__all__ = ["percentage", "plain_console", "plain_table", "print_table", "whole_number"]

_NARROWEST = 12
"""Characters that a line of folded text has room for, however narrow the terminal is."""


def plain_console() -> Console:
    """Standard output, without colours for numbers and with `[` as a character like any other."""
    return Console(highlight=False, markup=False)


def plain_table(texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table without lines: columns of text, which fold, and then columns of numbers.

    A heading may have several lines; the last ones are level.
    """
    height = max(heading.count("\n") for heading in (*texts, *numbers))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in texts:
        table.add_column(_lowered(heading, height), overflow="fold")
    for heading in numbers:
        table.add_column(_lowered(heading, height), justify="right", no_wrap=True)
    return table


def _lowered(heading: str, height: int) -> str:
    return "\n" * (height - heading.count("\n")) + heading


def print_table(console: Console, table: Table) -> None:
    """Print a `plain_table` within the console's width, or as wide as its numbers are.

    Columns are two characters apart, or one where that would fold a text.
    """
    widths = [_width(column) for column in table.columns]
    least = [
        width if column.no_wrap else min(width, _NARROWEST)
        for width, column in zip(widths, table.columns, strict=True)
    ]
    gaps = len(widths) - 1
    gap = 2 if sum(widths) + 2 * gaps <= console.width else 1
    table.padding = (0, gap, 0, 0)
    before = console.width
    console.width = max(before, sum(least) + gap * gaps)
    console.print(table)
    console.width = before


def _width(column: Column) -> int:
    """Characters of the longest line in a column."""
    texts = (column.header, *column.cells)
    return max(cell_len(line) for text in texts for line in str(text).splitlines() or [""])


def whole_number(value: int | None, missing: str = "") -> str:
    """An integer with separators of thousands; `missing` for None."""
    return missing if value is None else f"{value:,}"


def percentage(value: float | None, missing: str = "") -> str:
    """A fraction of 1 in percent; `missing` for None."""
    return missing if value is None else f"{value:.1%}"
