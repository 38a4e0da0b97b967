"""Atomic writes of files."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tandem.base.paths import AnyPath


def check_destination(path: AnyPath | None) -> None:
    """Raise `OSError` if `path` cannot be written; call before long work.

    Permission bits do not suffice: the superuser has all permissions, even on read-only disks. So
    a temporary file is created in the same folder and removed.
    """
    if path is None:
        return
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    target = _target(path)
    # For a symbolic link, the folder of the target file.
    folder = target.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        code = errno.ENOTDIR if folder.exists() else errno.ENOENT
        raise OSError(code, os.strerror(code), str(folder))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if _is_replaced(target):
        _try_draft(target, path)


def _try_draft(target: Path, path: Path) -> None:
    draft = _draft(target)
    try:
        draft.open("xb").close()
    except OSError as error:
        reason = f"no file can be made there: {error.strerror or error}"
        raise OSError(error.errno, reason, str(path)) from None
    finally:
        # Created within `try`, so that an interruption leaves no draft.
        with suppress(OSError):
            draft.unlink()


def _target(path: Path) -> Path:
    """The file to write: `path` with symbolic links resolved."""
    return Path(os.path.realpath(path))


def _is_replaced(target: Path) -> bool:
    """Whether `target` is replaced by a rename; pipes and devices are written directly."""
    return target.is_file() or not target.exists()


def _draft(target: Path) -> Path:
    """A new path in the same folder, with the suffix by which some writers choose a format."""
    return target.with_name(f".{target.stem}.{secrets.token_hex(4)}.part{target.suffix}")


@contextmanager
def replacing(path: AnyPath, even_after: tuple[type[Exception], ...] = ()) -> Iterator[Path]:
    """Yield a draft file that replaces `path` when the block ends.

    If an exception ends the block, `path` keeps its old content, except after the exceptions in
    `even_after`. For a pipe or a device, `path` itself is yielded.
    """
    path = Path(path)
    check_destination(path)
    target = _target(path)
    if not _is_replaced(target):
        yield target
        return
    draft = _draft(target)
    try:
        try:
            yield draft
        except even_after:
            if draft.exists():
                draft.replace(target)
            raise
        _sync(draft)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _sync(draft: Path) -> None:
    """Flush `draft` to disk."""
    if draft.is_file():
        with draft.open("rb") as file:
            os.fsync(file.fileno())


def write_atomically(path: AnyPath, content: bytes | str) -> None:
    """Replace the content of `path`; on failure `path` keeps the old content.

    Text is UTF-8.
    """
    with replacing(path) as file:
        try:
            # Names of files may have bytes that are no UTF-8.
            if isinstance(content, str):
                content = content.encode(errors="backslashreplace")
            file.write_bytes(content)
        except OSError as error:
            # The error of a failed write (disk full) does not name the file.
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
