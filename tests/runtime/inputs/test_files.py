"""Inputs from files: arrays by order and by name, batches of samples, and what is refused."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.runtime.artifact import Input, Tensor
from tandem.runtime.errors import InputError
from tandem.runtime.inputs import random_inputs, read_inputs, read_samples

A = Tensor("a", (2, 3), "float32", Input())
B = Tensor("b", (1,), "int32", Input())


def saved(folder: Path, **arrays: NDArray[Any]) -> list[Path]:
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return [folder / f"{name}.npy" for name in arrays]


def test_files_are_the_inputs_in_order(tmp_path: Path) -> None:
    one, other = np.ones((2, 3), np.float32), np.zeros(1, np.int32)
    found = read_inputs(saved(tmp_path, first=one, second=other), [A, B])
    np.testing.assert_array_equal(found["a"], one)
    np.testing.assert_array_equal(found["b"], other)


def test_an_archive_names_its_own(tmp_path: Path) -> None:
    one = np.ones((2, 3), np.float32)
    np.savez(tmp_path / "b.npz", b=np.array([7], np.int32))
    (first,) = saved(tmp_path, first=one)
    for paths in ([tmp_path / "b.npz", first], [first, tmp_path / "b.npz"]):
        found = read_inputs(paths, [A, B])
        assert found["b"] == [7]
        np.testing.assert_array_equal(found["a"], one)


def test_too_many(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=np.zeros(1))
    paths = saved(tmp_path, x=np.zeros(1), y=np.zeros(1))
    with pytest.raises(InputError, match=r"y\.npy: there is a file for each input already: a"):
        read_inputs(paths, [A])
    with pytest.raises(InputError, match=r"a\.npz: input a is given twice"):
        read_inputs([paths[0], tmp_path / "a.npz"], [A])


def objects(path: Path) -> None:
    np.save(path, np.array([object()], object), allow_pickle=True)


def single(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.zeros(2))


def cut(path: Path) -> None:
    np.save(path, np.zeros(100))
    path.write_bytes(path.read_bytes()[:300])


def archive(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, a=np.zeros(1))


def two_bombs(path: Path) -> None:
    """Some kilobytes whose directory says that they are gigabytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("a.npy", "b.npy"):
            file.writestr(name, bytes(1 << 20))
    size, claimed = struct.pack("<I", 1 << 20), struct.pack("<I", 0xFFFF_FFF0)
    path.write_bytes(path.read_bytes().replace(size, claimed))


def nested(path: Path) -> None:
    header = b"(" * 5000 + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        (
            "x.npz",
            two_bombs,
            r"its arrays have 8,589,934,560 bytes; at most 4,294,967,296",
        ),
        ("x.npy", nested, "cannot be read"),
        ("x.npy", lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
        ("x.npy", objects, "cannot be read: .*allow_pickle"),
        ("x.npy", cut, "cannot be read"),
        ("x.npy", archive, "cannot be read: it holds several arrays"),
        ("x.npy", lambda path: path.write_bytes(b"PK\x03\x04junk"), "cannot be read"),
        ("x.npy", lambda path: path.write_bytes(b"junk"), "it is no file of NumPy's"),
        ("x.npz", single, "holds a single array"),
        ("x.npz", lambda path: path.write_bytes(b""), "cannot be read"),
        ("x.npy", lambda path: path.mkdir(), "Is a directory"),
        ("x.npy", lambda path: None, "No such file or directory"),
        ("x.txt", lambda path: None, r"files that end in \.npy, \.npz, \.png, \.jpg, \.jpeg"),
    ],
)
def test_files_that_are_none(
    tmp_path: Path, name: str, make: Callable[[Path], object], message: str
) -> None:
    make(tmp_path / name)
    with pytest.raises(InputError, match=message) as error:
        read_inputs([tmp_path / name], [A])
    assert "\n" not in str(error.value)
    assert name in str(error.value)


def test_samples_one_after_the_other(tmp_path: Path) -> None:
    a = np.arange(18, dtype=np.float32).reshape(6, 3)
    np.savez(tmp_path / "all.npz", a=a, b=np.arange(3, dtype=np.int32))
    samples = [*read_samples(tmp_path / "all.npz", [A, B])]
    assert len(samples) == 3
    for number, sample in enumerate(samples):
        np.testing.assert_array_equal(sample["a"], a[2 * number : 2 * number + 2])
        np.testing.assert_array_equal(sample["b"], [number])


@pytest.mark.parametrize("scalars", [np.float32(4), np.full(1, 4, np.float32)])
def test_a_sample_of_a_scalar(tmp_path: Path, scalars: NDArray[np.float32]) -> None:
    """Alone as a run takes it, or in an array as several are."""
    np.savez(tmp_path / "all.npz", s=scalars)
    (sample,) = read_samples(tmp_path / "all.npz", [Tensor("s", (), "float32", Input())])
    assert sample["s"].shape == ()
    assert sample["s"] == 4


def test_samples_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no sample")
    saved(tmp_path, two=np.full((2, 3), 2, np.float32), one=np.ones((4, 3), np.float32))
    samples = [*read_samples(tmp_path, [A])]
    assert [each["a"][0, 0] for each in samples] == [1, 1, 2]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.zeros((2, 3), np.float32)}, "input b is missing"),
        ({"a": np.zeros((3, 3)), "b": np.zeros(1)}, r"input a is float32\[2, 3\], or several"),
        ({"a": np.zeros((2, 4)), "b": np.zeros(1)}, r"not float64\[2, 4\]"),
        (
            {"a": np.zeros((4, 3), np.float32), "b": np.zeros(1, np.int32)},
            "different numbers of batches",
        ),
        (
            {"a": np.zeros((2, 3), np.float32), "b": np.zeros(1)},
            r"input b is int32\[1\], or several of them along the first axis, not float64\[1\]",
        ),
        ({"a": np.zeros(()), "b": np.zeros(1)}, r"not float64\[\]"),
    ],
)
def test_samples_that_do_not_fit(
    tmp_path: Path, arrays: dict[str, NDArray[Any]], message: str
) -> None:
    np.savez(tmp_path / "all.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        list(read_samples(tmp_path / "all.npz", [A, B]))


def test_a_folder_without_samples(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file in it ends in \.npy"):
        list(read_samples(tmp_path, [A]))


def test_random_inputs_are_the_seeds() -> None:
    tensors = [
        A,
        B,
        Tensor("c", (50,), "uint8", Input()),
        Tensor("d", (50,), "bool", Input()),
        Tensor("e", (50,), "int64", Input()),
        Tensor("f", (50,), "int32", Input(), rows=7),
    ]
    one, same, other = (random_inputs(tensors, seed) for seed in (0, 0, 1))
    for tensor in tensors:
        assert one[tensor.name].shape == tensor.shape
        assert one[tensor.name].dtype == tensor.dtype
        np.testing.assert_array_equal(one[tensor.name], same[tensor.name])
    assert (one["a"] != other["a"]).all()
    assert one["c"].max() > 200
    assert set(one["e"]) == {0, 1}
    assert set(one["f"]) == set(range(7))
