"""`--output`: the outputs of a run as an `.npz` file."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.base.files import check_destination, replacing
from tandem.scripts.errors import CommandError

_Array: TypeAlias = NDArray[Any]
_NAME_BYTES = (1 << 16) - 1
_SHOWN = 40


def check_archive(path: Path | None) -> None:
    """Raise `CommandError` or `OSError` for a path that `write_archive` could not write."""
    if path is not None and path.suffix != ".npz":
        raise CommandError(f"{path}: outputs are written to a file that ends in .npz")
    check_destination(path)


def check_names(path: Path | None, names: Iterable[str]) -> None:
    """Raise `CommandError` for outputs whose names an `.npz` cannot hold; call before the run."""
    for name in names:
        size = len(f"{name}.npy".encode())
        if path is not None and (size > _NAME_BYTES or "\0" in name):
            raise CommandError(
                f"{path}: the output {name[:_SHOWN]!r}... has a name of {size:,} bytes: an archive "
                f"has names of up to {_NAME_BYTES:,}, without NUL"
            )


def write_archive(path: Path, arrays: Mapping[str, _Array]) -> None:
    """Write an `.npz` atomically. Unlike with `numpy.savez`, an array may have any name."""
    with replacing(path) as draft:
        try:
            with zipfile.ZipFile(draft, "w") as archive:
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
