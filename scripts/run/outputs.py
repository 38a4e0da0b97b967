"""What a network gave: told, and kept."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hw.files import check_destination, replacing
from scripts.errors import CommandError

__all__ = ["check_archive", "told", "top5", "write_archive"]

_Array: TypeAlias = NDArray[Any]
_TOP = 5


def told(name: str, array: _Array) -> dict[str, object]:
    """An output as the command's JSON has it."""
    return {
        "name": name,
        "shape": list(array.shape),
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        "top5": top5(array),
    }


def top5(array: _Array) -> list[int] | None:
    """The classes with the greatest values, greatest first, of equals the first; None of what is
    not one value a class for one input."""
    if array.ndim not in (1, 2) or array.size != array.shape[-1] or array.size < 2:
        return None
    values = array.reshape(-1)
    order = np.argsort(values, kind="stable")
    # Equal ones keep their order when what is sorted upwards is read downwards from behind.
    _, first = np.unique(values[order], return_index=True)
    ends = [*first[1:], len(order)]
    classes = [
        int(each)
        for begin, end in zip(first[::-1], ends[::-1], strict=True)
        for each in order[begin:end]
    ]
    return classes[:_TOP]


def check_archive(path: Path | None) -> None:
    """Refuse now what `write_archive` could not write later."""
    if path is not None and path.suffix != ".npz":
        raise CommandError(f"{path}: outputs are written to a file that ends in .npz")
    check_destination(path)


def write_archive(path: Path, arrays: Mapping[str, _Array]) -> None:
    """An `.npz` that is there whole, or not at all. Unlike `numpy.savez`, it takes any name."""
    with replacing(path) as draft:
        try:
            with zipfile.ZipFile(draft, "w") as archive:
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
