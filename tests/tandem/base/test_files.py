"""`base.files`: files are there whole, or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tandem.base.files import check_destination, replacing, write_atomically


def test_writes_text_and_bytes(tmp_path: Path) -> None:
    write_atomically(tmp_path / "text", "grüß")
    write_atomically(tmp_path / "bytes", b"\x00\xff")
    assert (tmp_path / "text").read_bytes() == "grüß".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"


def test_replaces_what_was_there_and_leaves_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    write_atomically(tmp_path / "file", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError(28, "No space left")])
def test_an_interruption_leaves_the_old_file_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interruption: type[BaseException] | BaseException,
) -> None:
    (tmp_path / "file").write_text("old")
    write_bytes = Path.write_bytes

    def half_of_it(path: Path, data: bytes) -> int:
        write_bytes(path, data[: len(data) // 2])
        raise interruption

    monkeypatch.setattr(Path, "write_bytes", half_of_it)
    with pytest.raises((KeyboardInterrupt, OSError)):
        write_atomically(tmp_path / "file", "new content")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_full_disk_names_the_file() -> None:
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        write_atomically(Path("/dev/full"), "something")


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_what_is_half_written_is_kept_after_chosen_errors_only(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "wave.fst"
    path.write_text("old")

    def write_half() -> None:
        with replacing(path, even_after=(KeyError,)) as file:
            assert file.suffix == ".fst"
            file.write_text("half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == ("half" if error is KeyError else "old")
    assert [one.name for one in tmp_path.iterdir()] == ["wave.fst"]


def test_an_error_before_anything_is_written_is_the_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), replacing(tmp_path / "file", even_after=(KeyError,)):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_atomically(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_impossible_destinations_are_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    check_destination(None)
    check_destination(tmp_path / "file")
    check_destination(tmp_path / "new")
    with pytest.raises(FileNotFoundError, match="missing"):
        check_destination(tmp_path / "missing" / "new")
    with pytest.raises(NotADirectoryError, match="file"):
        check_destination(tmp_path / "file" / "new")
    with pytest.raises(IsADirectoryError):
        check_destination(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == ""


def test_what_the_permissions_do_not_tell(tmp_path: Path) -> None:
    """The superuser may write to `/proc`, and no file can be made there."""
    if not Path("/proc").is_dir():
        pytest.skip("this system has no /proc")
    with pytest.raises(OSError, match=r"no file can be made there: .*: '/proc/r\.html'"):
        check_destination(Path("/proc/r.html"))
    (tmp_path / "link").symlink_to("/proc/r.html")
    with pytest.raises(OSError, match=r"no file can be made there: .*link'"):
        check_destination(tmp_path / "link")
    with pytest.raises(OSError, match=r"no file can be made there: File name too long"):
        check_destination(tmp_path / ("n" * 254))


def test_a_link_to_a_folder_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "missing" / "file")
    with pytest.raises(FileNotFoundError, match=r"missing'"):
        check_destination(tmp_path / "link")


def test_an_interruption_of_the_check_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    def interrupted(path: Path, mode: str) -> None:
        opened(path, mode).close()
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        check_destination(tmp_path / "file")
    assert not [*tmp_path.iterdir()]
