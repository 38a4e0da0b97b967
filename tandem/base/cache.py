"""A cache of build results, keyed by a hash of the build's inputs.

An entry is a folder `<root>/<key>`, written in a scratch folder and renamed, so that the entry is
complete or absent. Its manifest holds the digest of each file, so that a damaged entry is detected
and rebuilt. One process builds a key at a time; other processes wait and use its result. A build
that is killed leaves a scratch folder, which the next build of that key removes. The whole cache
may be deleted while no process uses it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tandem.base.errors import CacheError
from tandem.base.file_digest import file_digest
from tandem.base.input_files import TEXT_BYTES, read_input

_MANIFEST = "manifest.json"

Build = Callable[[Path], Sequence[Path]]
"""A function that writes files into an empty folder and returns the paths of the files to keep."""


def content_key(*parts: str) -> str:
    """The key of an entry: a hash of `parts` in their order."""
    digest = hashlib.sha256()
    for part in parts:
        # Names of files may have bytes that are no UTF-8.
        data = part.encode("utf-8", "surrogatepass")
        # With lengths, different lists of parts never hash the same bytes.
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:32]


def default_cache() -> Path:
    """The default cache root: `$TANDEM_CACHE`, or `tandem` in the user's cache folder."""
    if own := os.environ.get("TANDEM_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "tandem"
    return Path.home() / ".cache" / "tandem"


@dataclass(frozen=True, slots=True)
class ContentCache:
    """A cache whose entries are under `root`; the folder is created at first use."""

    root: Path

    def lookup(self, key: str) -> Path | None:
        """The folder of entry `key`; None unless the entry exists and is intact."""
        folder = self.root / key
        return folder if _intact(folder) else None

    def entry(self, key: str, build: Build) -> Path:
        """The folder of entry `key`; calls `build` unless the entry exists and is intact."""
        folder = self.root / key
        if _intact(folder):
            return folder
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with self._locked(key):
                if not _intact(folder):
                    self._remove_leftovers(key)
                    self._fill(folder, build)
        except OSError as error:
            raise CacheError(
                f"the cache at {self.root} cannot be used: {error}; "
                "name another folder in the environment's TANDEM_CACHE"
            ) from None
        return folder

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        # The lock file is never deleted: else two processes could lock two files of one name.
        # The operating system releases the lock when the process ends, even by a signal.
        with (self.root / f".{key}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _remove_leftovers(self, key: str) -> None:
        for leftover in (self.root / key, *self.root.glob(f".{key}-*")):
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)

    def _fill(self, folder: Path, build: Build) -> None:
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=self.root))
        try:
            work, entry = scratch / "work", scratch / "entry"
            work.mkdir()
            entry.mkdir()
            for file in build(work):
                file.rename(entry / file.name)
            manifest = {file.name: file_digest(file) for file in sorted(entry.iterdir())}
            (entry / _MANIFEST).write_text(json.dumps(manifest, indent=1))
            entry.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _intact(folder: Path) -> bool:
    try:
        manifest = json.loads(read_input(folder / _MANIFEST, TEXT_BYTES))
        return bool(manifest) and all(
            file_digest(folder / name) == digest for name, digest in manifest.items()
        )
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return False
