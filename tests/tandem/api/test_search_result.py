"""What a search came to: the front in order, its text and its page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tandem.api import search_result
from tandem.api.search_result import Search
from tandem.workbench.errors import ArgumentTypeError
from tandem.workbench.pages.search.page import SearchPage
from tandem.workbench.table import Column, Table
from tests.support.compiler.search.search_points import search_page

COLUMNS = (
    Column("machine", str, "its name"),
    Column("cycles", int, "cycles"),
    Column("area", float, "area"),
    Column("front", bool, "whether no other beats it"),
)
ROWS = (
    ("a", 900, 1.0, True),
    ("b", 700, 1.5, False),
    ("c", 500, 3.0, True),
    ("d", None, None, False),
    ("e", 600, 2.0, True),
)


def search(*rows: tuple[Any, ...]) -> Search:
    points = Table(COLUMNS, rows)
    none = Table(COLUMNS, ())
    machines = cast(Any, tuple(row[0].upper() for row in rows))
    return Search(
        *(points, machines, none, ("cycles", "area"), 61.6, (), none, None, None, search_page())
    )


def test_the_front_is_by_the_first_objective() -> None:
    found = search(*ROWS)
    assert [row["machine"] for row in found.front] == ["c", "e", "a"]
    assert [str(each) for each in found.front_machines] == ["C", "E", "A"]
    assert found.front.columns == COLUMNS


def test_texts() -> None:
    found = search(*ROWS)
    lines = repr(found).splitlines()
    assert lines[-1] == "5 machines, 3 on the front, in 62 s"
    assert lines[0].split() == ["machine", "cycles", "area"]
    assert [line.split()[0] for line in lines[1:-1] if line.strip("- ")][-3:] == ["c", "e", "a"]
    page = found._repr_html_()
    assert "5 machines, 3 on the front, in 62 s" in page
    assert "front</th>" not in page
    empty = search(ROWS[1])
    assert repr(empty).endswith("1 machines, 0 on the front, in 62 s")
    assert empty.front_machines == ()


def test_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page says by which call it was made."""
    written: list[tuple[SearchPage, Path]] = []
    monkeypatch.setattr(
        search_result, "write_page", lambda page, path: written.append((page, path))
    )
    found = search(*ROWS)
    path = tmp_path / "machines.html"
    found.report(str(path))
    ((page, where),) = written
    assert (where, page.command) == (path, f"search.report({str(path)!r})")
    assert replace(page, command="") == replace(found.page, command="")
    with pytest.raises(ArgumentTypeError):
        found.report(cast(Any, 3))
