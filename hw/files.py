"""Files that are either there whole, or not there."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["check_destination", "replacing", "write_atomically"]


def check_destination(path: Path | None) -> None:
    """Raise `OSError` now if `path` cannot be written later, after the long work.

    Permissions do not tell: the superuser has all of them, on disks that are read-only too. So a
    file is made beside it, and taken away again.
    """
    if path is None:
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    target = _target(path)
    # As it was written, unless it is a link: what that points to counts.
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
        # Within `try` from the start, so that an interruption leaves nothing.
        with suppress(OSError):
            draft.unlink()


def _target(path: Path) -> Path:
    """What is written: through a link we replace what it points to, not the link."""
    return Path(os.path.realpath(path))


def _is_replaced(target: Path) -> bool:
    """Not of what is no regular file (a pipe, `/dev/null`): renaming would replace it."""
    return target.is_file() or not target.exists()


def _draft(target: Path) -> Path:
    """A name beside it that ends as the target's does: there are writers that choose their format
    by it."""
    return target.with_name(f".{target.stem}.{secrets.token_hex(4)}.part{target.suffix}")


@contextmanager
def replacing(path: Path, even_after: tuple[type[Exception], ...] = ()) -> Iterator[Path]:
    """Give a file to write to, which takes the place of `path` when the block ends.

    When an exception ends it, `path` keeps its old content, except after those in `even_after`.
    What is no regular file is given as it is.
    """
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
        _settle(draft)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _settle(draft: Path) -> None:
    """Have the disk hold what was written, before a name is given to it."""
    if draft.is_file():
        with draft.open("rb") as file:
            os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write `content` to `path`, which holds the old content or the new, whatever happens.

    Text is UTF-8.
    """
    with replacing(path) as file:
        try:
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            # A write that fails (the disk is full) does not say which file it was.
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
