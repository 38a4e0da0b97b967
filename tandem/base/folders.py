"""Writes several files of a folder that belong together: all of them, or none.

A folder that is new is written beside its place and renamed. POSIX has no such way to replace a
folder that has files. There the new files are written to a hidden folder first; then a marker is
created, the files are renamed one by one, and the marker is removed. Whoever finds the marker knows
that the folder has files of both; `base.input_files` refuses to read any file there.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from tandem.base.input_files import INCOMPLETE
from tandem.base.paths import AnyPath

_EXPLANATION = """\
A command of Tandem that was replacing the files in this folder was stopped: some of them are old,
others new. Run the command again, with the same folder; it removes this file at its end.
"""
_STAGE = "tandem"


def write_files(
    folder: AnyPath, files: Mapping[str, str | bytes], last: str, obsolete: Iterable[str] = ()
) -> None:
    """Write all files, or none; a process that is killed at the end leaves the marker.

    Parameters
    ----------
    folder
        Made if need be. Files in it that have other names stay.
    files
        Contents by names, which may begin with a folder, as in `01/config.json`. Text is UTF-8.
    last
        The name, without a folder, of the files that list others: removed first and written last.
    obsolete
        Names of files to remove.

    Raises
    ------
    OSError
        The files cannot be written. The folder is as before, or has the marker.
    """
    folder = Path(os.path.realpath(folder))
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _stage(folder.parent, f".{folder.name}.") as stage:
            _write(stage, files, folder)
            stage.rename(folder)
            _sync(folder.parent)
        return
    with _locked(folder), _stage(folder, f".{_STAGE}.") as stage:
        _write(stage, files, folder)
        names = sorted(files, key=lambda name: Path(name).name == last)
        try:
            _replace(folder, stage, names, last, obsolete)
        except KeyboardInterrupt:
            # Milliseconds of work are left; what is done already is not done again.
            _replace(folder, stage, names, last, obsolete)
            raise


def _replace(
    folder: Path, stage: Path, names: Iterable[str], last: str, obsolete: Iterable[str]
) -> None:
    """Move staged files to their places; may be called again after an interruption."""
    marker = folder / INCOMPLETE
    if any((stage / name).exists() for name in names):
        marker.write_text(_EXPLANATION)
        _sync(marker)
        _sync(folder)
        for name in names:
            if Path(name).name == last and (stage / name).exists():
                (folder / name).unlink(missing_ok=True)
    for name in obsolete:
        (folder / name).unlink(missing_ok=True)
        if (parent := (folder / name).parent) != folder:
            with suppress(OSError):
                # Only an empty folder can be removed so.
                parent.rmdir()
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            (stage / name).replace(folder / name)
    for place in {(folder / name).parent for name in names}:
        _sync(place)
    marker.unlink(missing_ok=True)


def _write(stage: Path, files: Mapping[str, str | bytes], folder: Path) -> None:
    for name, content in files.items():
        path = stage / name
        try:
            if (folder / name).is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            _sync(path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise OSError(error.errno, reason, str(folder / name)) from None


@contextmanager
def _stage(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a new hidden folder in `parent`, which is gone at the end.

    Those of processes that were killed are removed: nobody has locked them.
    """
    for leftover in parent.glob(f"{escape(prefix)}*.part"):
        with suppress(OSError), _locked(leftover, wait=False):
            shutil.rmtree(leftover, ignore_errors=True)
    stage = parent / f"{prefix}{secrets.token_hex(4)}.part"
    try:
        try:
            stage.mkdir()
        except OSError as error:
            reason = f"no folder can be made there: {error.strerror or error}"
            raise OSError(error.errno, reason, str(parent)) from None
        with _locked(stage):
            yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a folder, which the system releases when the process ends.

    Raises `OSError` if another process has the lock, unless `wait`.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # Some network file systems have no locks.
            if not wait:
                raise
        yield
    finally:
        os.close(descriptor)


def _sync(path: Path) -> None:
    """Flush a file or a folder to disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
