"""Reads files with a limit on their size; devices, pipes and sockets are refused.

A device such as `/dev/zero` never ends, and a pipe may never begin. Every file that a user names is
read by this module, with a limit: that of its kind is where the kind is known.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from tandem.base.paths import AnyPath

TEXT_BYTES: Final = 1 << 20
"""Limit of texts that people write: configurations, for one."""
INCOMPLETE: Final = "TANDEM-INCOMPLETE.txt"
"""The file that marks a folder, and the folders in it, as not written to the end: see
`base.folders`."""
_CHUNK: Final = 1 << 16


@contextmanager
def open_input(path: AnyPath, limit: int) -> Iterator[BinaryIO]:
    """Yield the regular file at `path`, open for reading.

    Parameters
    ----------
    limit
        The maximum size, in bytes.

    Raises
    ------
    OSError
        The file cannot be opened, is not a regular file, is larger than `limit`, or lies in a
        folder that is marked as incomplete; `strerror` says which, and `filename` is the path.
    """
    path = Path(path)
    _check_kind(path, path.stat().st_mode)
    _check_complete(path)
    # Another process may have replaced the file by a pipe, which would block without O_NONBLOCK.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_kind(path, status.st_mode)
        _check_size(path, status.st_size, limit)
        yield file


def read_input(path: AnyPath, limit: int) -> bytes:
    """The content of the regular file at `path`; limit and errors as of `open_input`."""
    with open_input(path, limit) as file:
        expected = os.fstat(file.fileno()).st_size
        parts: list[bytes] = []
        size = 0
        # The file may grow meanwhile, and files of /proc have no size.
        while part := file.read(max(expected + 1 - size, _CHUNK)):
            parts.append(part)
            size += len(part)
            if size > limit:
                _check_size(Path(path), size, limit)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _check_complete(path: Path) -> None:
    for folder in path.absolute().parents[:2]:
        if (folder / INCOMPLETE).exists():
            reason = f"its folder is not complete: see {folder / INCOMPLETE}"
            raise OSError(errno.EINVAL, reason, str(path))


def _check_kind(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def _check_size(path: Path, size: int, limit: int) -> None:
    if size > limit:
        reason = f"the file has {size:,} bytes; at most {limit:,} are read"
        raise OSError(errno.EFBIG, reason, str(path))
