"""Archives of what is compiled: zip files that end with a mark and a checksum of all before it.

Parts are stored as they are, so that equal parts are equal bytes.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from hashlib import sha256
from typing import BinaryIO, Final

from tandem.runtime.errors import ArtifactError

_HEX = 64
"""Hexadecimal digits of a SHA-256."""


class Mark(Enum):
    """What an archive is of; all values have one length."""

    ARTIFACT = b"tandem-artifact sha256:"
    DECODER = b"tandem-decoder  sha256:"
    """Several functions: `runtime.decoder`'s."""


_MARK = len(Mark.ARTIFACT.value)
UNREADABLE: Final = (
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError),
    *(KeyError, ValueError, TypeError, OverflowError, RecursionError),
)
"""Exceptions of `zipfile` and msgspec for malformed files."""


def sealed(mark: Mark, parts: Mapping[str, bytes | memoryview]) -> bytes:
    """An archive of parts by name; equal ones have equal bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part)  # dated 1980: reproducible bytes
        archive.comment = mark.value + bytes(_HEX)
    with file.getbuffer() as data:
        data[-_HEX:] = _checksum(data)
    return file.getvalue()


def mark_of(data: bytes) -> Mark | None:
    """The mark of an archive; None of other bytes, or of an archive that is cut off."""
    return _mark(data[-_HEX - _MARK : -_HEX])


def mark_of_file(file: BinaryIO) -> Mark | None:
    """The mark of the archive in a file; raises `OSError` or `ValueError` if it is too short."""
    file.seek(-_HEX - _MARK, io.SEEK_END)
    return _mark(file.read(_MARK))


def is_intact(data: bytes) -> bool:
    """Whether the checksum of an archive is right."""
    view = memoryview(data)
    return _checksum(view) == bytes(view[-_HEX:])


@contextmanager
def unsealed(data: bytes) -> Iterator[zipfile.ZipFile]:
    """Yield the parts of an archive.

    Raises
    ------
    ArtifactError
        Parts are compressed.
    zipfile.BadZipFile
        Or others of `UNREADABLE`: another program wrote it.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
            raise ArtifactError("this artifact is compressed; parts are stored as they are")
        yield archive


def _mark(found: bytes) -> Mark | None:
    return next((mark for mark in Mark if mark.value == found), None)


def _checksum(data: memoryview) -> bytes:
    return sha256(data[:-_HEX]).hexdigest().encode()
