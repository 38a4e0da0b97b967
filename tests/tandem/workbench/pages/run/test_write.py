"""Pages as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.workbench.errors import ArgumentValueError, MissingPackageError, PageError
from tandem.workbench.pages import write
from tandem.workbench.pages.run import check_page, write_page
from tandem.workbench.pages.run.render import render
from tests.support.workbench.pages.profiles import page


def test_the_file_is_the_page(tmp_path: Path) -> None:
    write_page(page(), tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == render(page())
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_a_failure_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(made: object) -> str:
        raise PageError("no")

    (tmp_path / "page.html").write_text("old")
    monkeypatch.setattr("tandem.workbench.pages.run.render.render", fails)
    with pytest.raises(PageError, match=r"^no$"):
        write_page(page(), tmp_path / "page.html")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("page.html", "old")]


@pytest.mark.parametrize("name", ["page.pdf", "page", "page.html.gz"])
def test_another_kind_of_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArgumentValueError, match=rf"{name}: a report ends in \.html$"):
        check_page(tmp_path / name)


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="none"):
        check_page(tmp_path / "none" / "page.html")


def test_what_draws_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_NEEDED", ("altair", "no_such_package"))
    with pytest.raises(MissingPackageError, match=r"pip install 'tandem-workbench\[report\]'$"):
        check_page(tmp_path / "page.html")
