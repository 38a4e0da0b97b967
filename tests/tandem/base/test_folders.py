"""`base.folders`: all files of a folder, or none, or a folder that says so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tandem.base.folders import write_files
from tandem.base.input_files import INCOMPLETE, read_input

OLD = {"a.v": "old a", "b.v": "old b", "list": "a.v b.v"}
NEW: dict[str, str | bytes] = {"a.v": "new a", "c.v": b"new c", "list": "a.v c.v"}


class KilledError(BaseException):
    """Stands for a signal that ends the process."""


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in files_of(folder)}


def files_of(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def texts(files: dict[str, str | bytes]) -> dict[str, str]:
    return {name: text if isinstance(text, str) else text.decode() for name, text in files.items()}


def filled(folder: Path) -> Path:
    folder.mkdir()
    for name, text in OLD.items():
        (folder / name).write_text(text)
    (folder / "mine").write_text("stays")
    return folder


def test_a_new_folder(tmp_path: Path) -> None:
    write_files(tmp_path / "some" / "where", NEW, "list")
    assert content(tmp_path / "some" / "where") == texts(NEW)
    assert [path.name for path in (tmp_path / "some").iterdir()] == ["where"]


def test_a_used_folder(tmp_path: Path) -> None:
    folder = filled(tmp_path / "used")
    write_files(folder, NEW, "list", {"b.v", "missing"})
    assert content(folder) == texts(NEW) | {"mine": "stays"}


def test_folders_in_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    write_files(folder, {"01/x": "1", "02/x": "2", "02/list": ""}, "list")
    write_files(folder, {"01/x": "one", "03/x": "3"}, "list", {"02/x", "02/list"})
    assert content(folder) == {"01/x": "one", "03/x": "3"}
    assert sorted(path.name for path in folder.iterdir()) == ["01", "03"]


def test_through_a_link(tmp_path: Path) -> None:
    folder = filled(tmp_path / "used")
    (tmp_path / "link").symlink_to(folder)
    write_files(tmp_path / "link", NEW, "list", ["b.v"])
    assert (tmp_path / "link").is_symlink()
    assert content(folder) == texts(NEW) | {"mine": "stays"}


CALLS = ("write_bytes", "write_text", "replace", "unlink", "mkdir", "rename", "fsync")
"""The calls that change the disk, or wait for it."""


def stop_at(
    monkeypatch: pytest.MonkeyPatch, number: int, error: type[BaseException], *, after: bool
) -> list[str]:
    """Raise `error` once before, or after, the call of that number; returns the calls' names."""
    made: list[str] = []

    def watched(name: str, owner: object) -> None:
        original = getattr(owner, name)

        def call(*arguments: object, **options: object) -> object:
            made.append(name)
            stops = len(made) == number + 1
            if stops and not after:
                raise error
            result = original(*arguments, **options)
            if stops:
                raise error
            return result

        monkeypatch.setattr(owner, name, call)

    for name in CALLS:
        if name != "fsync":
            watched(name, Path)
    # The disk is not waited for.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    watched("fsync", os)
    # A process that is killed removes nothing.
    if error is KilledError:
        monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    return made


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt, KilledError])
def test_stopped_at_every_step(
    error: type[BaseException], after: bool, used: bool, tmp_path: Path
) -> None:
    """The folder is old or new, or says that it is neither; the next write is right."""
    outcomes: set[str] = set()
    for number in range(200):
        folder = tmp_path / str(number) / "folder"
        folder.parent.mkdir()
        if used:
            filled(folder)
        with pytest.MonkeyPatch.context() as patch:
            made = stop_at(patch, number, error, after=after)
            try:
                write_files(folder, NEW, "list", ["b.v"])
                stopped = False
            except error:
                stopped = True
        assert stopped is (len(made) > number)
        rest = {"mine": "stays"} if used else {}
        found = {
            name: text
            for name, text in (content(folder) if folder.exists() else {}).items()
            if not name.startswith(".")
        }
        if INCOMPLETE in found:
            assert used
            assert error is KilledError
            outcomes.add("incomplete")
            with pytest.raises(OSError, match=r"its folder is not complete: see .*INCOMPLETE"):
                read_input(folder / "mine", 100)
        elif found == (OLD | rest if used else {}):
            outcomes.add("old")
        else:
            assert found == texts(NEW) | rest
            outcomes.add("new")
        if error is KeyboardInterrupt:
            assert not [*folder.parent.rglob("*.part")]
        write_files(folder, NEW, "list", ["b.v"])
        assert content(folder) == texts(NEW) | rest
        assert [path.name for path in folder.parent.iterdir()] == ["folder"]
        if not stopped:
            break
    expected = {"old", "new"} | ({"incomplete"} if used and error is KilledError else set())
    assert outcomes == expected


def test_a_file_that_is_a_folder(tmp_path: Path) -> None:
    folder = filled(tmp_path / "used")
    (folder / "c.v").mkdir()
    with pytest.raises(IsADirectoryError, match=r"c\.v"):
        write_files(folder, NEW, "list")
    assert content(folder) == OLD | {"mine": "stays"}


def test_where_nothing_can_be_made() -> None:
    if not Path("/proc").is_dir():
        pytest.skip("this system has no /proc")
    with pytest.raises(OSError, match=r"no folder can be made there: .*'/proc'"):
        write_files(Path("/proc/design"), NEW, "list")
