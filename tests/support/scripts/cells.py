"""The tables and elements of HTML pages."""

from __future__ import annotations

from html.parser import HTMLParser


class Cells(HTMLParser):
    """Rows of tables as their cells' texts, by the section that they are in, and elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._section = ""
        self._open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append((tag, given))
        if tag == "section":
            self._section = given.get("id") or ""
        elif tag == "tr":
            self.rows.setdefault(self._section, []).append([])
        self._open = tag in ("td", "th")
        if self._open:
            self.rows[self._section][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._open:
            self.rows[self._section][-1][-1] += data
