"""Pages as files: what is refused before a run, and the module that renders."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tandem.workbench.errors import ArgumentValueError, MissingPackageError
from tandem.workbench.pages import write
from tandem.workbench.pages.write import check_drawn, check_installed, check_page, write_page


@dataclass
class Content:
    command: str = "tandem run"


def test_suffixes(tmp_path: Path) -> None:
    check_page(tmp_path / "a.html")
    check_drawn(tmp_path / "a.svg", "chart", (".png", ".svg"))
    with pytest.raises(ArgumentValueError, match=r"a\.htm: a report ends in \.html$"):
        check_page(tmp_path / "a.htm")
    with pytest.raises(ArgumentValueError, match=r"a\.html: a chart ends in \.png or \.svg$"):
        check_drawn(tmp_path / "a.html", "chart", (".png", ".svg"))


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="none"):
        check_page(tmp_path / "none" / "a.html")
    assert not [*tmp_path.iterdir()]


def test_libraries_that_are_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One is enough."""
    check_installed("a chart")
    monkeypatch.setattr(write, "find_spec", lambda name: None if name == "jinja2" else object())
    with pytest.raises(MissingPackageError, match=r"^a report needs Altair.*\[report\]"):
        check_installed("a report")
    with pytest.raises(MissingPackageError, match=r"^a report needs Altair.*\[report\]"):
        check_page(tmp_path / "a.html")


def test_the_renderer_lies_beside_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    renderer = ModuleType("somewhere.render")
    renderer.render = lambda page: f"<p>{page.command}</p>"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "somewhere", ModuleType("somewhere"))
    monkeypatch.setitem(sys.modules, "somewhere.render", renderer)
    monkeypatch.setattr(Content, "__module__", "somewhere.page")
    write_page(Content(), tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text() == "<p>tandem run</p>"
    with pytest.raises(ArgumentValueError, match="ends in"):
        write_page(Content(), tmp_path / "a.txt")
    assert [each.name for each in tmp_path.iterdir()] == ["a.html"]
