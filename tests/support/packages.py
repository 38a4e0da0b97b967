"""The folders of the package's source, as they lie in the repository, and their modules' names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

PACKAGE = "tandem"
LINKED = ("hw", "sim", "runtime", "compiler", "scripts")
"""Folders that are packages in `tandem` by links."""
FOLDERS = (*LINKED, PACKAGE)
"""All folders of source; links inside the last are not followed."""
ROOT = Path(__file__).parents[2]


def source_files(root: Path, folder: str) -> Iterator[PurePosixPath]:
    """The Python files of a folder, as paths from the root, sorted."""
    for path in sorted((root / folder).rglob("*.py")):
        yield PurePosixPath(path.relative_to(root).as_posix())


def module_name(path: PurePosixPath) -> str:
    """The name by which a file of source, or of tests, is imported."""
    parts = path.with_suffix("").parts
    if parts[0] in LINKED:
        parts = (PACKAGE, *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def copy_source(target: Path, without: tuple[str, ...] = ()) -> None:
    """Copy the package to a folder, with its links, but for some folders."""
    ignored = shutil.ignore_patterns("__pycache__", *without)
    shutil.copytree(ROOT / PACKAGE, target / PACKAGE, symlinks=True, ignore=ignored)
    for folder in LINKED:
        if folder not in without:
            shutil.copytree(ROOT / folder, target / folder, ignore=ignored)
