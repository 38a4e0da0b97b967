"""Inputs from files: NumPy's `.npy` and `.npz`, and pictures."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.base.input_files import open_input
from tandem.base.paths import AnyPath
from tandem.runtime.artifact import Tensor
from tandem.runtime.errors import InputError
from tandem.runtime.inputs.batches import samples_of
from tandem.runtime.inputs.pictures import SUFFIXES, PixelNormalisation, read_picture

Arrays = dict[str, NDArray[Any]]
ARRAY_BYTES: Final = 1 << 32
"""Limit of NumPy's files, and of the arrays in one."""
_UNREADABLE = (
    *(ValueError, EOFError, KeyError, TypeError, OverflowError, MemoryError, RecursionError),
    *(SyntaxError, tokenize.TokenError),
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, struct.error, zlib.error),
)
"""Exceptions of NumPy, of Python's parser, which NumPy reads headers with, and of `zipfile`."""
_ARRAY, _ARCHIVE = b"\x93NUMPY", b"PK"
"""The first bytes of an `.npy` and of an `.npz`."""


def read_inputs(
    paths: Sequence[AnyPath],
    tensors: Sequence[Tensor],
    pixels: PixelNormalisation = PixelNormalisation.IMAGENET,
) -> Arrays:
    """The arrays of files, by input names.

    Arrays in an `.npz` have names; other files are the remaining inputs, in their order.

    `check_inputs` checks that the arrays fit the tensors.

    Raises
    ------
    InputError
        A file that cannot be read, or of another kind; more files than inputs; an input twice.
    """
    found: Arrays = {}
    for path in map(Path, paths):
        if path.suffix.lower() == ".npz":
            read = read_archive(path)
        else:
            left = [tensor for tensor in tensors if tensor.name not in found]
            if not left:
                names = ", ".join(each.name for each in tensors)
                raise InputError(f"{path}: there is a file for each input already: {names}")
            read = {left[0].name: _single(path, left[0], pixels)}
        twice = sorted(read.keys() & found.keys())
        if twice:
            raise InputError(f"{path}: input {twice[0]} is given twice")
        found |= read
    return found


def read_arrays(paths: Sequence[AnyPath], names: Sequence[str]) -> Arrays:
    """The arrays of NumPy files by input names, as `read_inputs` assigns them; pictures, whose
    arrays depend on the inputs' types, are left out.

    Raises
    ------
    InputError
        A NumPy file that cannot be read.
    """
    found: Arrays = {}
    left = list(names)
    for path in map(Path, paths):
        if path.suffix.lower() == ".npz":
            read = read_archive(path)
            found |= read
            left = [name for name in left if name not in read]
        elif left:
            name = left.pop(0)
            if path.suffix.lower() == ".npy":
                array = _loaded(path, archive=False)
                assert isinstance(array, np.ndarray), "what a .npy holds"
                found[name] = array
    return found


def read_archive(path: AnyPath) -> Arrays:
    """The arrays of an `.npz` by name, whatever the file's name ends in.

    Raises
    ------
    InputError
        A file that cannot be read, or is no `.npz`.
    """
    found = _loaded(Path(path), archive=True)
    assert isinstance(found, Mapping), "what an .npz holds"
    return dict(found)


def read_samples(
    path: AnyPath,
    tensors: Sequence[Tensor],
    pixels: PixelNormalisation = PixelNormalisation.IMAGENET,
) -> Iterator[Arrays]:
    """Batches of samples, from the files of a folder in the order of their names, or from one file.

    The arrays of a file may hold several batches, along their first axis.

    Raises
    ------
    InputError
        The errors of `read_inputs` and `samples_of`; a folder without input files.
    """
    for file in _sample_files(Path(path)):
        yield from samples_of(file, read_inputs([file], tensors, pixels), tensors)


def first_sample_file(path: AnyPath) -> Path:
    """The first of the files that `read_samples` reads. Raises `InputError` if there is none."""
    return _sample_files(Path(path))[0]


def _sample_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    kinds = (".npy", ".npz", *SUFFIXES)
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in kinds)
    if not files:
        raise InputError(f"{path}: no file in it ends in {', '.join(kinds)}")
    return files


def _single(path: Path, tensor: Tensor, pixels: PixelNormalisation) -> NDArray[Any]:
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        return read_picture(path, tensor, pixels)
    if suffix == ".npy":
        array = _loaded(path, archive=False)
        assert isinstance(array, np.ndarray), "what a .npy holds"
        return array
    raise InputError(f"{path}: inputs are files that end in .npy, .npz, {', '.join(SUFFIXES)}")


def _check_unpacked(archive: Any) -> None:
    """Refuse an `.npz` whose arrays are larger than a file may be: compressed, it can be small."""
    size = sum(member.file_size for member in archive.zip.infolist())
    if size > ARRAY_BYTES:
        raise ValueError(f"its arrays have {size:,} bytes; at most {ARRAY_BYTES:,} are read")


def _loaded(path: Path, *, archive: bool) -> NDArray[Any] | Arrays:
    """The array or arrays of a NumPy file, of the kind that is asked for.

    Pickled objects, which could run code, are refused.
    """
    try:
        # Given a path that it cannot read, NumPy would leave the file open.
        with open_input(path, ARRAY_BYTES) as file:
            if not file.read(len(_ARRAY)).startswith((_ARRAY, _ARCHIVE)):
                # NumPy would take the file for a pickle, and its message would be about pickles.
                raise ValueError("it is no file of NumPy's")
            file.seek(0)
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray) == archive:
                raise ValueError(f"it holds {'a single array' if archive else 'several arrays'}")
            if isinstance(found, np.ndarray):
                return found
            _check_unpacked(found)
            return {name: found[name] for name in found.files}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except _UNREADABLE as error:
        raise InputError(f"{path} cannot be read: {error}") from None
