"""The charts' JavaScript: bundled once, and fit to stand in a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.workbench.errors import PageError
from tandem.workbench.pages.library import chart_library


def bundles(monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    """Have the bundle be `text`; the versions that were asked for."""
    asked: list[str] = []

    def bundle(snippet: str, vl_version: str) -> str:
        asked.append(vl_version)
        return text + snippet

    monkeypatch.setattr("vl_convert.javascript_bundle", bundle)
    return asked


def test_it_is_bundled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = bundles(monkeypatch, "let a;")
    found = [chart_library(tmp_path) for _ in range(2)]
    assert found == ["let a;window.vegaEmbed = vegaEmbed;"] * 2
    assert len(asked) == 1


def test_the_version_is_the_one_that_altair_writes_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("altair.SCHEMA_VERSION", "v9.87.6")
    asked = bundles(monkeypatch, "")
    chart_library(tmp_path)
    assert asked == ["9.87"]


@pytest.mark.parametrize("mark", ["</script", "</SCRIPT", "<!--"])
def test_a_library_that_would_end_its_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    bundles(monkeypatch, f"'{mark}'")
    with pytest.raises(PageError, match=rf"the charts' library has {mark.lower()} in it"):
        chart_library(tmp_path)
