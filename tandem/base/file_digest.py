"""The digest of a file's content, computed once for a file that does not change."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from functools import lru_cache
from pathlib import Path

_SETTLED = 2_000_000_000
"""Nanoseconds since a file changed after which another change shows another time."""


def file_digest(path: Path) -> str:
    """SHA-256 of the file's content, in hexadecimal digits.

    Raises
    ------
    OSError
        There is no such file, it is not a regular one, or it cannot be read.
    """
    found = path.stat()
    # Reading a pipe would wait forever.
    if not stat.S_ISREG(found.st_mode):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    # A program may set the time of a write, but not that of a change.
    if time.time_ns() - found.st_ctime_ns < _SETTLED:
        return _digest(path)
    # A file that replaces another has another number.
    return _digest_of(path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@lru_cache(maxsize=1024)
def _digest_of(path: Path, *_: int) -> str:
    return _digest(path)


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
