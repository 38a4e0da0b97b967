"""Object code that LLVM has made before, kept in files.

LLVM takes a third of the time that a small network takes to compile, and the same networks are
compiled again and again: by every command, by every test. An object is kept under a hash of all
that determines it, with the digest of its bytes, so that what a crash or a disk has damaged is made
again. A cache that cannot be read or written costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tandem.base.cache import content_key, default_cache

MOST_IN_FOLDER = 64
"""Of each folder's files, so many of the latest used stay: 16,384 objects in all, some 300 MB."""
_DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class ObjectCache:
    """The objects under `root`; the folder is made at the first use."""

    root: Path

    @classmethod
    def default(cls) -> ObjectCache:
        """That of the user, beside Tandem's other caches."""
        return cls(default_cache() / "objects")

    def object_of(self, parts: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
        """The object that `parts` determine: from its file, or what `make` gives."""
        key = content_key(*parts)
        path = self.root / key[:2] / key[2:]
        if (found := _read(path)) is not None:
            return found
        code = make()
        with suppress(OSError):
            _write(path, code)
            _forget_oldest(path.parent)
        return code


def _read(path: Path) -> bytes | None:
    """The object in a file, which is then the latest used; None if it is absent or damaged."""
    try:
        content = path.read_bytes()
        if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
            return None
        os.utime(path)
    except OSError:
        return None
    return content[_DIGEST:]


def _write(path: Path, code: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # No other process sees a part of it. It need not be on the disk yet: the digest tells.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.write_bytes(hashlib.sha256(code).digest() + code)
    draft.replace(path)


def _forget_oldest(folder: Path) -> None:
    # Other processes may do the same at the same time.
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    for file in files[:-MOST_IN_FOLDER]:
        file.unlink(missing_ok=True)
