"""The digest of the hardware's source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hw import sources
from hw.sources import source_digest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "rtl").mkdir()
    (tmp_path / "rtl" / "mac.py").write_text("a = 1\n")
    monkeypatch.setattr(sources, "files", lambda package: tmp_path)
    yield tmp_path
    source_digest.cache_clear()


def digest() -> str:
    source_digest.cache_clear()
    return source_digest()


def test_every_python_file_counts_with_its_place(folder: Path) -> None:
    found = [digest()]
    (folder / "rtl" / "mac.py").write_text("a = 2\n")
    found.append(digest())
    (folder / "rtl" / "mac.py").rename(folder / "mac.py")
    found.append(digest())
    assert len(set(found)) == 3
    (folder / "notes.txt").write_text("no source")
    assert digest() == found[-1]
