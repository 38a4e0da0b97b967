"""Inputs from files: NumPy's `.npy` and `.npz`, and pictures."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.artifact import Tensor
from runtime.errors import InputError
from runtime.inputs.pictures import SUFFIXES, Pixels, read_picture

__all__ = ["Arrays", "read_inputs", "read_samples"]

Arrays = dict[str, NDArray[Any]]
_ARRAY, _ARCHIVE = b"\x93NUMPY", b"PK"
"""What an `.npy` and an `.npz` begin with."""


def read_inputs(
    paths: Sequence[Path], tensors: Sequence[Tensor], pixels: Pixels = Pixels.IMAGENET
) -> Arrays:
    """Arrays by name: an `.npz` names its own, other files are the inputs that are left, in order.

    Whether they fit is said by `check_inputs`.

    Raises
    ------
    InputError
        A file that cannot be read, or is of another kind; more files than inputs; an input twice.
    """
    found: Arrays = {}
    for path in paths:
        if path.suffix.lower() == ".npz":
            given = _archive(path)
        else:
            left = [each for each in tensors if each.name not in found]
            if not left:
                names = ", ".join(each.name for each in tensors)
                raise InputError(f"{path}: there is a file for each input already: {names}")
            given = {left[0].name: _single(path, left[0], pixels)}
        twice = sorted(given.keys() & found.keys())
        if twice:
            raise InputError(f"{path}: input {twice[0]} is given twice")
        found |= given
    return found


def read_samples(
    path: Path, tensors: Sequence[Tensor], pixels: Pixels = Pixels.IMAGENET
) -> Iterator[Arrays]:
    """Many inputs: those of a folder's files, in the order of their names; or a file whose arrays
    hold several batches, one after the other along their first axis.

    Raises
    ------
    InputError
        As `read_inputs`; arrays that are no whole number of batches; no file at all.
    """
    if path.is_dir():
        kinds = (".npy", ".npz", *SUFFIXES)
        files = sorted(each for each in path.iterdir() if each.suffix.lower() in kinds)
        if not files:
            raise InputError(f"{path}: no file in it ends in {', '.join(kinds)}")
        for file in files:
            yield from _batches(file, read_inputs([file], tensors, pixels), tensors)
    else:
        yield from _batches(path, read_inputs([path], tensors, pixels), tensors)


def _batches(path: Path, arrays: Arrays, tensors: Sequence[Tensor]) -> Iterator[Arrays]:
    counts = set()
    for each in tensors:
        array = arrays.get(each.name)
        if array is None:
            raise InputError(f"{path}: input {each.name} is missing")
        batch = each.shape[0] if each.shape else 1
        if array.shape[1:] != each.shape[1:] or not array.ndim or len(array) % max(batch, 1):
            raise InputError(
                f"{path}: input {each.name} is {each}, or several of them along the first axis, "
                f"not {array.dtype}{list(array.shape)}"
            )
        counts.add(len(array) // max(batch, 1))
    if len(counts) != 1:
        raise InputError(f"{path}: its arrays hold different numbers of batches")
    for number in range(counts.pop()):
        yield {each.name: _part(arrays[each.name], each, number) for each in tensors}


def _part(array: NDArray[Any], tensor: Tensor, number: int) -> NDArray[Any]:
    batch = tensor.shape[0] if tensor.shape else 1
    return array[number * batch : (number + 1) * batch].reshape(tensor.shape)


def _single(path: Path, tensor: Tensor, pixels: Pixels) -> NDArray[Any]:
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        return read_picture(path, tensor, pixels)
    if suffix == ".npy":
        array = _loaded(path)
        assert isinstance(array, np.ndarray), "what a .npy holds"
        return array
    raise InputError(f"{path}: inputs are files that end in .npy, .npz, {', '.join(SUFFIXES)}")


def _archive(path: Path) -> Arrays:
    found = _loaded(path)
    assert isinstance(found, Mapping), "what an .npz holds"
    return dict(found)


def _loaded(path: Path) -> NDArray[Any] | Arrays:
    """What NumPy reads, without objects that would run code."""
    try:
        # NumPy leaves a file open that it was told to open and could not read.
        with path.open("rb") as file:
            if not file.read(len(_ARRAY)).startswith((_ARRAY, _ARCHIVE)):
                # NumPy would take it for a pickle, and speak of how to load that.
                raise ValueError("it is no file of NumPy's")
            file.seek(0)
            found = np.load(file, allow_pickle=False)
            several = not isinstance(found, np.ndarray)
            if several != (path.suffix.lower() == ".npz"):
                raise ValueError(f"it holds {'several arrays' if several else 'a single array'}")
            return {name: found[name] for name in found.files} if several else found
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except (ValueError, EOFError, KeyError, MemoryError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
