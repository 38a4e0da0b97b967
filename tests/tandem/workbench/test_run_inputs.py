"""Inputs of runs: drawn or read, in batches, without those that became constants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tandem.runtime.artifact import Input, Tensor
from tandem.runtime.errors import InputError
from tandem.runtime.inputs import PixelNormalisation, random_inputs
from tandem.workbench.run_inputs import RunInputs

X, K = Tensor("x", (1, 2), "float32", Input()), Tensor("k", (3,), "int64", Input())
PIXELS = PixelNormalisation.IMAGENET


def read(paths: list[Path], seed: int = 0, constants: tuple[str, ...] = ()) -> RunInputs:
    return RunInputs.read("net", [X, K], paths, PIXELS, seed, constants)


def test_inputs_that_are_drawn() -> None:
    found, wanted = read([], 3), random_inputs([X, K], 3)
    assert {name: array.tolist() for name, array in found.arrays.items()} == {
        name: array.tolist() for name, array in wanted.items()
    }
    assert (found.network, len(found.batches)) == ("net", 1)
    assert [*found.batches[0]] == ["x", "k"]
    without = read([], 3, ("k",))
    assert [*without.arrays] == [*without.batches[0]] == ["x"]
    assert without.arrays["x"].tolist() == wanted["x"].tolist()


def test_inputs_in_files(tmp_path: Path) -> None:
    path = tmp_path / "inputs.npz"
    rows = np.array([[1, 2], [3, 4]], np.float32)
    np.savez(path, x=rows, k=np.arange(3))
    found = read([path], constants=("k",))
    assert [batch["x"].tolist() for batch in found.batches] == [[[1, 2]], [[3, 4]]]
    np.savez(path, x=rows[:, :1], k=np.arange(3))
    with pytest.raises(InputError, match="x"):
        read([path])
