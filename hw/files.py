"""Files that are either there whole, or not there."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["check_destination", "replacing", "write_atomically"]


def check_destination(path: Path | None) -> None:
    """Raise `OSError` now if `path` cannot be written later, after the long work."""
    if path is None:
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    folder = path.parent
    if not folder.is_dir():
        code = errno.ENOTDIR if folder.exists() else errno.ENOENT
        raise OSError(code, os.strerror(code), str(folder))
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


@contextmanager
def replacing(path: Path, even_after: tuple[type[Exception], ...] = ()) -> Iterator[Path]:
    """Give a file to write to, which takes the place of `path` when the block ends.

    When an exception ends it, `path` keeps its old content, except after those in `even_after`.
    What is no regular file (a pipe, `/dev/null`) is given as it is: renaming would replace it.
    """
    check_destination(path)
    # Through a link we replace what it points to, not the link.
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target
        return
    # The name ends as the target's does: there are writers that choose their format by it.
    draft = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.part{target.suffix}")
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
