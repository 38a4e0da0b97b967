"""Inputs that are drawn: of which values, by the types of tensors."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.runtime.artifact import Input, Tensor
from tandem.runtime.inputs import random_inputs

SHAPE = (80, 100)


def drawn(dtype: str, rows: int | None = None) -> set[int]:
    (array,) = random_inputs([Tensor("x", SHAPE, dtype, Input(), rows=rows)], 3).values()
    assert (array.shape, array.dtype) == (SHAPE, np.dtype(dtype))
    return set(array.ravel().tolist())


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("int8", range(-128, 128)),
        ("uint8", range(256)),
        ("int16", range(2)),
        ("uint16", range(2)),
        ("int64", range(2)),
        ("bool", range(2)),
    ],
)
def test_integers(dtype: str, wanted: range) -> None:
    assert drawn(dtype) == {*wanted}


@pytest.mark.parametrize("dtype", ["int8", "int64"])
def test_indices_are_of_rows_of_tables(dtype: str) -> None:
    assert drawn(dtype, rows=5) == {*range(5)}


def test_floats_are_normal() -> None:
    (array,) = random_inputs([Tensor("x", (10_000,), "float32", Input())], 0).values()
    assert array.dtype == np.float32
    assert abs(array.mean()) < 0.05
    assert abs(array.std() - 1) < 0.05


def test_a_seed_gives_the_same() -> None:
    tensors = [Tensor("x", (4,), "float32", Input()), Tensor("y", (4,), "float32", Input())]
    one, again, other = (random_inputs(tensors, seed) for seed in (1, 1, 2))
    assert [*one] == ["x", "y"]
    assert all(np.array_equal(one[name], again[name]) for name in one)
    assert not np.array_equal(one["x"], other["x"])
    assert not np.array_equal(one["x"], one["y"])
