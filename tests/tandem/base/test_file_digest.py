"""Digests of files that change, and of files that do not."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tandem.base import file_digest as module
from tandem.base.file_digest import file_digest


def test_it_is_the_content_s(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    for _ in range(2):
        assert file_digest(path) == hashlib.sha256(b"content").hexdigest()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_changed_file_has_another(tmp_path: Path, replaced: bool) -> None:
    """Of the same size, and as it says of the same age."""
    path = tmp_path / "file"
    path.write_bytes(b"before")
    before, shown = file_digest(path), path.stat()
    changed = tmp_path / "other" if replaced else path
    changed.write_bytes(b"later!")
    os.utime(changed, ns=(shown.st_atime_ns, shown.st_mtime_ns))
    changed.replace(path)
    assert file_digest(path) == hashlib.sha256(b"later!").hexdigest() != before


def test_a_file_that_has_settled_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_bytes(b"content")
    other.write_bytes(b"content")
    monkeypatch.setattr(module, "_SETTLED", 0)
    found = file_digest(path)
    monkeypatch.setattr(module, "_digest", lambda path: "read again")
    assert file_digest(path) == found
    assert file_digest(other) == "read again"
    monkeypatch.undo()
    monkeypatch.setattr(module, "_digest", lambda path: "read again")
    assert file_digest(path) == "read again"


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "", "missing"):
        with pytest.raises(FileNotFoundError):
            file_digest(tmp_path / name)
