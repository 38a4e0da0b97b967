"""What is read of files of inputs, right ones and wrong ones, stays what it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tandem.runtime.artifact import Arena, Tensor
from tandem.runtime.errors import InputError
from tandem.runtime.inputs.batches import batches_of
from tandem.runtime.inputs.check import Expected, check_inputs
from tandem.runtime.inputs.files import first_sample_file, read_arrays, read_inputs, read_samples
from tandem.runtime.inputs.pictures import PixelNormalisation
from tandem.runtime.inputs.random_inputs import random_inputs

Array = NDArray[Any]


def _tensor(name: str, dtype: str, *shape: int) -> Tensor:
    return Tensor(name, shape, dtype, Arena(0))


TAKEN = {
    "pair": (_tensor("x", "float32", 2, 3), _tensor("n", "int64")),
    "image": (_tensor("picture", "float32", 1, 3, 4, 6),),
    "grey": (_tensor("picture", "float32", 1, 1, 5, 4), _tensor("x", "float32", 2, 3)),
    "bytes": (_tensor("picture", "uint8", 1, 3, 4, 4),),
    "batch": (_tensor("picture", "float32", 2, 3, 4, 4),),
    "nothing": (),
}
"""The inputs of networks."""


def _npy(array: Array, **how: Any) -> bytes:
    file = BytesIO()
    np.save(file, array, **how)
    return file.getvalue()


def _npz(**arrays: Array) -> bytes:
    file = BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _picture(kind: str, mode: str, width: int, height: int) -> bytes:
    file = BytesIO()
    channels = {"RGB": 3, "L": 1, "RGBA": 4}[mode]
    values = np.arange(width * height * channels, dtype=np.uint32) * 37 % 251
    shape = (height, width, channels) if channels > 1 else (height, width)
    Image.fromarray(values.astype(np.uint8).reshape(shape), mode).save(file, kind)
    return file.getvalue()


X = np.arange(6, dtype=np.float32).reshape(2, 3)
FILES: Mapping[str, bytes] = {
    "x.npy": _npy(X),
    "columns.npy": _npy(np.asfortranarray(X)),
    "double.npy": _npy(X.astype(np.float64)),
    "stacked.npy": _npy(np.concatenate([X, X + 10, X + 20])),
    "odd.npy": _npy(np.zeros((3, 3), np.float32)),
    "flat.npy": _npy(X.ravel()),
    "number.npy": _npy(np.array(7)),
    "numbers.npy": _npy(np.array([7, 8, 9])),
    "objects.npy": _npy(np.array([{}], dtype=object), allow_pickle=True),
    "cut.npy": _npy(X)[:-5],
    "header.npy": _npy(X)[:40],
    "empty.npy": b"",
    "text.npy": b"1 2 3\n",
    "pair.npz": _npz(x=X, n=np.array(3)),
    "stacked.npz": _npz(x=np.concatenate([X, X]), n=np.array([3, 4])),
    "uneven.npz": _npz(x=np.concatenate([X, X]), n=np.array([3, 4, 5])),
    "part.npz": _npz(x=X),
    "other.npz": _npz(y=X),
    "cut.npz": _npz(x=X)[:-30],
    "colour.png": _picture("PNG", "RGB", 9, 7),
    "tall.PNG": _picture("PNG", "RGB", 5, 20),
    "grey.png": _picture("PNG", "L", 8, 8),
    "alpha.png": _picture("PNG", "RGBA", 8, 8),
    "cut.png": _picture("PNG", "RGB", 9, 7)[:-40],
    "text.jpg": b"no picture",
    "x.txt": b"",
}


def _shown(array: Array) -> str:
    """Type, shape and numbers, to three digits: pictures are resized with real numbers."""
    numbers = np.array2string(np.asarray(array).ravel(), precision=3, threshold=400)
    return f"{array.dtype}{list(array.shape)} {numbers}"


def _arrays(found: Mapping[str, Array]) -> str:
    return "; ".join(f"{name} {_shown(array)}" for name, array in found.items())


def _said(folder: Path, what: Callable[[], str]) -> str:
    try:
        return what()
    except InputError as error:
        # What NumPy and Pillow say depends on their versions.
        said = str(error).replace(str(folder), "").partition("cannot be read")
        return f"{type(error).__name__}: {said[0]}{said[1]}"


def _checked(tensors: Sequence[Tensor], arrays: Mapping[str, Array]) -> str:
    """The batches of arrays, each of which is checked."""
    lines = []
    for batch in batches_of(arrays, tensors):
        check_inputs("net", tensors, batch)
        assert Expected(tensors).fit(batch)
        lines.append(_arrays(batch))
    return "\n".join(lines)


def _read(paths: Sequence[Path], tensors: Sequence[Tensor], pixels: PixelNormalisation) -> str:
    return _checked(tensors, read_inputs(paths, tensors, pixels))


def _first(folder: Path) -> str:
    return first_sample_file(folder).name


def _samples(path: Path, tensors: Sequence[Tensor]) -> str:
    return "\n".join(map(_arrays, read_samples(path, tensors)))


def _of_files(folder: Path, names: Sequence[str], tensors: Sequence[Tensor]) -> Iterator[str]:
    paths = [folder / name for name in names]
    for pixels in PixelNormalisation:
        yield _said(folder, partial(_read, paths, tensors, pixels))
    inputs = [tensor.name for tensor in tensors]
    yield _said(folder, lambda: _arrays(read_arrays(paths, inputs)))
    for path in paths:
        yield _said(folder, partial(_samples, path, tensors))


def test_files(recorded: Callable[[str, Mapping[str, str]], None], tmp_path: Path) -> None:
    """Every file alone, and some together, for every kind of inputs."""
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    together = [
        *(("x.npy", "number.npy"), ("number.npy", "x.npy"), ("pair.npz", "x.npy")),
        *(("part.npz", "number.npy"), ("x.npy", "part.npz"), ("grey.png", "x.npy")),
        *(("x.npy", "numbers.npy"), ("stacked.npy", "numbers.npy"), ("x.npy", "x.npy", "x.npy")),
        *(("missing.npy",), ("",), ("flat.npy", "number.npy"), ("grey.png", "stacked.npy")),
    ]
    found = {}
    for names in (*((name,) for name in FILES), *together):
        lines: list[str] = []
        for kind, tensors in TAKEN.items():
            lines += (f"{kind}: {said}" for said in _of_files(tmp_path, names, tensors))
        found[" ".join(names)] = "\n".join(lines)
    recorded("recorded/runtime/input_files.txt", found)


def test_folders(recorded: Callable[[str, Mapping[str, str]], None], tmp_path: Path) -> None:
    """Samples of a folder in the order of their names."""
    folders = {
        "two": ("stacked.npz", "pair.npz"),
        "with a wrong one": ("pair.npz", "uneven.npz"),
        "of texts": ("x.txt",),
        "empty": (),
    }
    found = {}
    for name, files in folders.items():
        folder = tmp_path / name
        folder.mkdir()
        for file in files:
            (folder / file).write_bytes(FILES[file])
        lines = [
            _said(tmp_path, partial(_first, folder)),
            _said(tmp_path, partial(_samples, folder, TAKEN["pair"])),
        ]
        found[name] = "\n".join(lines)
    recorded("recorded/runtime/sample_folders.txt", found)


def test_random_inputs(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    """NumPy's generator gives the same numbers everywhere."""
    dtypes = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool")
    tensors = [_tensor(f"of {each}", each, 2, 3) for each in dtypes]
    tensors += [_tensor("none", "float32", 0, 4), _tensor("one", "float32")]
    found = {f"seed {seed}": _arrays(random_inputs(tensors, seed)) for seed in (0, 1)}
    recorded("recorded/runtime/random_inputs.txt", found)
