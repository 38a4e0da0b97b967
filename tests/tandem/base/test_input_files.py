"""`base.input_files`: regular files up to a limit, and nothing else."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tandem.base.input_files import open_input, read_input


@pytest.mark.parametrize("size", [0, 1, 1 << 16, (1 << 16) + 1, 300_000])
def test_reads_all_of_a_file(size: int, tmp_path: Path) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    assert read_input(tmp_path / "file", 300_000) == content
    with open_input(tmp_path / "file", 300_000) as file:
        assert file.read() == content


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(OSError, match=r"the file has 1,099,.* bytes; at most 1,000 are .*/sparse"):
        read_input(path, 1000)
    path.write_bytes(bytes(1000))
    assert len(read_input(path, 1000)) == 1000
    with pytest.raises(OSError, match="the file has 1,000 bytes; at most 999 are read"):
        read_input(path, 999)


def test_files_without_a_size(tmp_path: Path) -> None:
    """The kernel says that files of /proc are empty."""
    if not Path("/proc/self/status").exists():
        pytest.skip("this system has no /proc")
    assert read_input(Path("/proc/self/status"), 1 << 20).startswith(b"Name:")
    with pytest.raises(OSError, match="at most 10 are read"):
        read_input(Path("/proc/self/status"), 10)


def test_special_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    os.mkfifo("pipe")
    Path("link").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name in ("pipe", "link", "socket", "/dev/zero", "/dev/null"):
            with pytest.raises(OSError, match=f"not a regular file: '{name}'"):
                read_input(Path(name), 1 << 20)
    with pytest.raises(IsADirectoryError):
        read_input(tmp_path, 1 << 20)
    with pytest.raises(FileNotFoundError):
        read_input(tmp_path / "missing", 1 << 20)


def test_a_file_that_becomes_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not opened as a pipe is, which waits for a writer."""
    path, pipe = tmp_path / "file", tmp_path / "pipe"
    path.write_bytes(b"content")
    before, stat = path.stat(), Path.stat
    os.mkfifo(pipe)
    monkeypatch.setattr(Path, "stat", lambda self, **_: before if self == pipe else stat(self))
    with pytest.raises(OSError, match="not a regular file"):
        read_input(pipe, 1 << 20)
