"""Arrays of several batches, split; and arrays of which no whole number of batches comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.runtime.artifact import Input, Tensor
from tandem.runtime.errors import InputError
from tandem.runtime.inputs.batches import batches_of, number_of_batches, samples_of

Array = NDArray[Any]
SHAPES = st.lists(st.integers(1, 3), max_size=3).map(tuple)
PATH = Path("in.npz")


def tensors(*shapes: tuple[int, ...]) -> list[Tensor]:
    return [Tensor(f"x{at}", shape, "float32", Input()) for at, shape in enumerate(shapes)]


def stacked(wanted: list[Tensor], count: int) -> tuple[dict[str, Array], list[dict[str, Array]]]:
    """Arrays of so many batches, and these batches."""
    random = np.random.default_rng(0)
    batches = [
        {one.name: random.standard_normal(one.shape).astype(np.float32) for one in wanted}
        for _ in range(count)
    ]
    arrays = {
        one.name: np.concatenate([np.atleast_1d(batch[one.name]) for batch in batches])
        for one in wanted
    }
    return arrays, batches


def same(found: list[Any], wanted: list[dict[str, Array]]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.keys() == other.keys()
        for name, array in other.items():
            assert one[name].shape == array.shape
            np.testing.assert_array_equal(one[name], array)


@given(shapes=st.lists(SHAPES, min_size=1, max_size=3), count=st.integers(1, 4))
def test_batches_come_back(shapes: list[tuple[int, ...]], count: int) -> None:
    wanted = tensors(*shapes)
    arrays, batches = stacked(wanted, count)
    assert {number_of_batches(arrays[one.name], one) for one in wanted} == {count}
    same(batches_of(arrays, wanted), batches)
    same([*samples_of(PATH, arrays, wanted)], batches)


def test_a_scalar_may_stand_alone() -> None:
    (scalar,) = tensors(())
    assert number_of_batches(np.array(3.0, np.float32), scalar) == 1
    assert number_of_batches(np.zeros((2, 2), np.float32), scalar) == 0
    (batch,) = samples_of(PATH, {"x0": np.array(3.0, np.float32)}, [scalar])
    assert (batch["x0"].shape, float(batch["x0"])) == ((), 3.0)


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        ((4, 3), 2),
        ((2, 3), 1),
        ((0, 3), 0),
        ((3, 3), 0),
        ((4, 2), 0),
        ((4,), 0),
        ((4, 3, 1), 0),
        (None, 0),
    ],
)
def test_how_many_there_are(shape: tuple[int, ...] | None, count: int) -> None:
    (tensor,) = tensors((2, 3))
    array = None if shape is None else np.zeros(shape, np.float32)
    assert number_of_batches(array, tensor) == count


def test_without_elements_there_is_no_number() -> None:
    (tensor,) = tensors((0, 3))
    assert number_of_batches(np.zeros((0, 3), np.float32), tensor) == 0


def test_what_cannot_be_split_is_one_batch() -> None:
    """It is checked later: the arrays are handed on as they are."""
    two = tensors((2,), (3,))
    for first, second in ((4, 3), (2, 6), (5, 3), (2, 4)):
        arrays = {"x0": np.zeros(first, np.float32), "x1": np.zeros(second, np.float32)}
        (found,) = batches_of(arrays, two)
        assert found is arrays
    more = {"x0": np.zeros(2), "x1": np.zeros(3), "other": np.zeros(1)}
    (found,) = batches_of(more, two)
    assert found.keys() == more.keys()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "input x0 is missing$"),
        ({"x0": np.zeros(2, np.float32)}, "input x1 is missing$"),
        ({"x0": np.zeros(2), "x1": np.zeros(3, np.float32)}, r"input x0 is .*, not float64\[2\]$"),
        (
            {"x0": np.zeros(3, np.float32)},
            r"input x0 is .*, or several of them along the first axis, no",
        ),
        ({"x0": np.zeros((2, 2), np.float32)}, r"input x0 is .*, not float32\[2, 2\]$"),
        ({"x0": np.zeros((), np.float32)}, r"input x0 is .*, not float32\[\]$"),
        (
            {"x0": np.zeros(4, np.float32), "x1": np.zeros(3, np.float32)},
            "its arrays hold different numbers of batches$",
        ),
    ],
)
def test_refusals(arrays: dict[str, Array], message: str) -> None:
    with pytest.raises(InputError, match=rf"^in\.npz: {message}"):
        [*samples_of(PATH, arrays, tensors((2,), (3,)))]
