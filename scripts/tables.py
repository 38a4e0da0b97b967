"""Tables of text as wide as the terminal: texts wrap, and numbers are never truncated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table

_NARROWEST = 12
"""Minimum width in characters of a wrapped column, however narrow the terminal is."""


def plain_console() -> Console:
    """A console on standard output, without coloured numbers and without markup in `[ ]`."""
    return Console(highlight=False, markup=False)


def plain_table(texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table without rules: columns of text, which wrap, and then columns of numbers.

    A heading may have several lines; headings are aligned at the bottom.
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
    """Print a `plain_table` within the console's width, or wider if its numbers need it.

    Columns are two characters apart, or one if two would wrap a text. Texts wrap between words if
    that is enough.
    """
    widths = [_longest(column, str.splitlines) for column in table.columns]
    gaps = len(widths) - 1
    gap = 2 if sum(widths) + 2 * gaps <= console.width else 1
    excess = sum(widths) + gap * gaps - console.width
    folding = [number for number, column in enumerate(table.columns) if not column.no_wrap]
    words = {number: _longest(table.columns[number], str.split) for number in folding}
    between_words = excess <= sum(widths[number] - words[number] for number in folding)
    for number in folding:
        least = words[number] if between_words else _NARROWEST
        cut = max(0, min(excess, widths[number] - least))
        widths[number] -= cut
        excess -= cut
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    table.padding = (0, gap, 0, 0)
    before = console.width
    console.width = before + max(0, excess)
    console.print(table)
    console.width = before


def _longest(column: Column, split: Callable[[str], list[str]]) -> int:
    """Length of the longest part when `split` divides the texts of a column."""
    texts = (column.header, *column.cells)
    return max((cell_len(part) for text in texts for part in split(str(text))), default=0)


def whole_number(value: int | None, missing: str = "") -> str:
    """An integer with thousands separators; `missing` for None."""
    return missing if value is None else f"{value:,}"


def percentage(value: float | None, missing: str = "") -> str:
    """A fraction as a percentage; `missing` for None."""
    return missing if value is None else f"{value:.1%}"
