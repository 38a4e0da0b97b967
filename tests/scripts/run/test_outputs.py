"""`scripts.run.outputs`: outputs as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.scripts.errors import CommandError
from tandem.scripts.run.outputs import check_archive, check_names, write_archive


def test_an_archive_takes_any_name(tmp_path: Path) -> None:
    arrays: dict[str, NDArray[Any]] = {
        "file": np.arange(3),
        "a/b:0": np.ones((2, 2), np.float32),
        "": np.zeros(()),
    }
    write_archive(tmp_path / "out.npz", arrays)
    with np.load(tmp_path / "out.npz") as found:
        assert {*found.files} == {*arrays}
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype
    assert [each.name for each in tmp_path.iterdir()] == ["out.npz"]


def test_what_cannot_be_written(tmp_path: Path) -> None:
    check_archive(None)
    check_archive(tmp_path / "out.npz")
    with pytest.raises(CommandError, match=r"ends in \.npz"):
        check_archive(tmp_path / "out.npy")
    with pytest.raises(FileNotFoundError):
        check_archive(tmp_path / "none" / "out.npz")


def test_names_that_an_archive_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    longest = "x" * (65_535 - len(".npy"))
    check_names(path, [longest, "any: name/ü"])
    check_names(None, [longest + "x"])
    write_archive(path, {longest: np.zeros(1)})
    with np.load(path) as found:
        assert found.files == [longest]
    with pytest.raises(CommandError, match=r"the output 'x+'\.\.\. has a name of 65,536 bytes"):
        check_names(path, [longest + "x"])
    with pytest.raises(CommandError, match=r"names of up to 65,535, without NUL"):
        check_names(path, ["a\0b"])
