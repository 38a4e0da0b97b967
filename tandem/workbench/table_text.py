"""Tables as text in columns, and as HTML."""

from __future__ import annotations

from collections.abc import Sequence

_GAP = "  "
_LONGEST = 64
"""Characters of a cell on a screen; whole texts are in `Table.text` and in the rows."""


def shortened(text: str) -> str:
    """A text as it is shown on a screen."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def text_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], left: int
) -> str:
    """Lines of text: the heads, then a line for each row, numbers aligned at the right.

    Parameters
    ----------
    numeric
        Of each column, whether it has numbers.
    left
        The number of rows that are not shown; a last line says so.
    """
    cells = [[*heads], *([" ".join(cell.split()) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        _GAP.join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join([*lines, *_rest(left)])


def html_table(
    heads: Sequence[tuple[str, str]],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    left: int,
) -> str:
    """An HTML table; parameters as of `text_table`, but a head has a description, too."""
    styles = ["text-align: right" if number else "text-align: left" for number in numeric]
    head = "".join(
        f'<th style="{style}" title="{_escaped(description)}">{_escaped(name)}</th>'
        for (name, description), style in zip(heads, styles, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{style}">{_escaped(cell)}</td>'
            for cell, style in zip(row, styles, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    rest = "".join(f"<p>{_escaped(line)}</p>" for line in _rest(left))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def html_text(text: str, *tables: str) -> str:
    """A text as HTML with its line breaks, and tables below."""
    return "".join([f"<pre>{_escaped(text)}</pre>", *tables])


def _rest(left: int) -> list[str]:
    return [f"... and {left:,} more row{'s' * (left > 1)}"] if left else []


def _escaped(text: str) -> str:
    """A text with its markup escaped, by a module that only notebooks need."""
    from html import escape

    return escape(text)
