"""Inputs of runs and of calibrations: arrays by name or alone, in batches, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.api.samples import batches, calibration, calibration_file
from tandem.runtime.artifact import Input, Tensor
from tandem.runtime.inputs import PixelNormalisation
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError

X, Y = Tensor("x", (1, 2), "float32", Input()), Tensor("y", (1,), "int64", Input())
ROW = [[1.0, 2.0]]


def lists(found: list[Mapping[str, NDArray[Any]]]) -> list[dict[str, list[Any]]]:
    return [{name: array.tolist() for name, array in each.items()} for each in found]


def test_arrays() -> None:
    array = np.array(ROW, np.float32)
    wanted = [{"x": ROW}]
    assert lists(batches("net", array, [X])) == wanted
    assert lists(batches("net", {"x": array}, [X])) == wanted
    assert lists(batches("net", {"x": array, "y": np.array([3])}, [X, Y])) == [{"x": ROW, "y": [3]}]


def test_several_batches() -> None:
    array = np.array([[1, 2], [3, 4]], np.float32)
    assert lists(batches("net", array, [X])) == [{"x": [[1, 2]]}, {"x": [[3, 4]]}]


@pytest.mark.parametrize(
    ("inputs", "tensors", "message"),
    [
        (
            3,
            [X],
            "the input of net is 3: it must be a mapping, or an array: it takes x float32[1, 2]",
        ),
        (
            np.zeros(2),
            [X, Y],
            "the input of net is array([0., 0.]): it must be a mapping: it takes x float32[1, 2], "
            "y int64[1]",
        ),
        ("x", [], "the input of net is 'x': it must be a mapping, or an array: it takes nothing"),
    ],
)
def test_what_is_no_input(inputs: object, tensors: list[Tensor], message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^{re.escape(message)}$"):
        batches("net", inputs, tensors)


def test_inputs_that_do_not_fit() -> None:
    for wrong in ({}, {"z": np.zeros((1, 2), np.float32)}, {"x": np.zeros((1, 3), np.float32)}):
        with pytest.raises(ArgumentValueError):
            batches("net", wrong, [X])


def test_samples_of_a_calibration() -> None:
    array = np.array(ROW, np.float32)
    pixels = PixelNormalisation.IMAGENET

    def given(samples: object) -> list[dict[str, list[Any]]]:
        return lists([*calibration("net", samples, pixels)((X,))])

    one = {"x": ROW}
    assert given(array) == [one]
    assert given({"x": array}) == [one]
    assert given([{"x": array}, {"x": 2 * array}]) == [one, {"x": [[2.0, 4.0]]}]
    assert given({"x": array} for _ in range(2)) == [one, one]
    # Batches of an array are samples.
    assert given(np.concatenate([array, array])) == [one, one]


def test_files_of_samples(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array(ROW, np.float32))
    assert calibration_file(str(path)) == calibration_file(path) == path
    assert calibration_file([np.zeros(1)]) is None
    found = calibration("net", path, PixelNormalisation.IMAGENET)((X,))
    assert lists([*found]) == [{"x": ROW}]
    with pytest.raises(ArgumentValueError, match="calibrate is empty: it must be a path"):
        calibration("net", "", PixelNormalisation.IMAGENET)
