"""Files that are either there whole, or not there."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

__all__ = ["check_destination", "write_atomically"]


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


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write `content` to `path` under another name first, and rename it when it is complete.

    Whatever interrupts the writing, `path` holds the old content or the new. Text is UTF-8. What
    is no regular file (a pipe, `/dev/null`) is written to as it is: renaming would replace it.
    """
    check_destination(path)
    data = content.encode() if isinstance(content, str) else content
    # Through a link we replace what it points to, not the link.
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        draft.write_bytes(data)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
