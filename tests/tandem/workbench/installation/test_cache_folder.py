"""`tandem.workbench.installation.cache_folder`: the cache's place, size and space."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from tandem.workbench.installation.cache_folder import cache_check

_Usage = namedtuple("_Usage", ("total", "used", "free"))


def test_size_and_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "objects").mkdir(parents=True)
    (tmp_path / "cache" / "objects" / "a").write_bytes(bytes(3_000_000))
    (tmp_path / "cache" / "b").write_bytes(bytes(2_000_000))
    check = cache_check()
    assert check.ok
    assert check.detail.startswith(f"{tmp_path / 'cache'}, 5 MB kept, ")
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["b", "objects"]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: _Usage(1 << 40, 1 << 40, 7_000_000))
    check = cache_check()
    assert not check.ok
    assert not check.required
    assert check.detail.endswith("7 MB free")
    assert "TANDEM_CACHE" in check.remedy


def test_a_file_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("")
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path / "cache"))
    check = cache_check()
    assert not check.ok
    assert "cannot be written" in check.detail
    assert "TANDEM_CACHE" in check.remedy
