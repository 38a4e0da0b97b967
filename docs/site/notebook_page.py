"""Notebooks as Markdown: text, code and outputs, with a link to the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def notebook_page(text: str, name: str) -> str:
    """The page of a notebook.

    Parameters
    ----------
    text
        The content of the file.
    name
        The file's name, to which the page links.
    """
    title, *cells = json.loads(text)["cells"]
    parts = [_source(title), f"{{download}}`Download this notebook <{name}>`"]
    for cell in cells:
        parts += _cell(cell)
    return "\n\n".join(parts) + "\n"


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    if cell["cell_type"] == "markdown":
        yield _source(cell)
        return
    yield _fenced("python", _source(cell))
    for output in cell["outputs"]:
        yield _output(output)


def _output(output: dict[str, Any]) -> str:
    """The richest form of an output: a picture, HTML, or text."""
    if output["output_type"] == "stream":
        return _fenced("text", _joined(output["text"]))
    data = output["data"]
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            return _fenced("{raw} html", f'<div class="output">{_joined(data[kind])}</div>')
    return _fenced("text", _joined(data["text/plain"]))


def _source(cell: dict[str, Any]) -> str:
    return _joined(cell["source"])


def _joined(text: str | list[str]) -> str:
    """Text, which notebooks may hold as lines."""
    return (text if isinstance(text, str) else "".join(text)).rstrip("\n")


def _fenced(language: str, text: str) -> str:
    """A block of code, whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
