"""Slices equal NumPy's, and ONNX's where the standards differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32, INT8
from tandem.compiler.operators.slicing import concat, elements, slice_of, split
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.broadcasts import shapes
from tests.support.compiler.operators.operators import evaluate, given_as, numbers, same

FAR = 1 << 62


@given(data=st.data(), shape=shapes(least=1, extent=6))
@settings(max_examples=80)
def test_against_numpy(data: st.DataObject, shape: tuple[int, ...]) -> None:
    axes = data.draw(st.permutations(range(len(shape))))[: data.draw(st.integers(0, len(shape)))]
    starts, ends, steps = [], [], []
    index: list[slice] = [slice(None)] * len(shape)
    for axis in axes:
        step = data.draw(st.sampled_from([1, 2, 3, 7, -1, -2, -5]))
        # NumPy has no start before the first element of a backward slice; ONNX has: see below.
        low = -shape[axis] if step < 0 else -8
        start = data.draw(st.integers(low, 8) if low < 0 else st.integers(0, 8))
        end = data.draw(st.one_of(st.integers(-8, 8), st.sampled_from([FAR, -FAR])))
        index[axis] = slice(start, end, step)
        starts.append(start)
        ends.append(end)
        steps.append(step)
    x = numbers(0, shape)
    negative = [axis - len(shape) if data.draw(st.booleans()) else axis for axis in axes]
    result = slice_of(given_as("X", x), starts, ends, negative, steps)
    same(evaluate(result, {"X": x}), np.ascontiguousarray(x[tuple(index)]))


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2, -3])
@pytest.mark.parametrize("extent", range(5))
def test_elements_are_pythons(extent: int, step: int) -> None:
    """All of them, but for backward slices that start before the first element: see below."""
    for start in range(-extent if step < 0 else -extent - 2, extent + 3):
        for end in (*range(-extent - 2, extent + 3), FAR, -FAR):
            wanted = list(range(extent))[start:end:step]
            assert list(elements(extent, start, end, step)) == wanted, (start, end)


def test_defaults_are_the_first_axes_and_single_steps() -> None:
    x = numbers(0, (4, 5, 6))
    same(evaluate(slice_of(given_as("X", x), [1, 2], [3, 9]), {"X": x}), x[1:3, 2:9])


def test_backward_from_before_the_beginning() -> None:
    """ONNX brings the start to the first element; NumPy would leave the slice empty."""
    x = numbers(0, (4,))
    same(evaluate(slice_of(given_as("X", x), [-9], [-FAR], [0], [-1]), {"X": x}), x[:1])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_split(axis: int) -> None:
    x = numbers(0, (6, 6))
    parts = split(given_as("X", x), (1, 0, 3, 2), axis)
    assert [each.name for each in parts] == ["split_0", "split_1", "split_2", "split_3"]
    for part, expected in zip(parts, np.split(x, (1, 1, 4), axis), strict=True):
        same(evaluate(part, {"X": x}), expected)


class TestRefusals:
    x = placeholder((4, 5), FLOAT32, "X")

    def test_slices(self) -> None:
        with pytest.raises(TensorError, match=r"slice s: steps \[0\] has a 0"):
            slice_of(self.x, [0], [1], [0], [0], name="s")
        with pytest.raises(TensorError, match=r"ends \[1, 2\] has to be 1 numbers"):
            slice_of(self.x, [0], [1, 2])
        with pytest.raises(TensorError, match=r"X float32\[4, 5\] has no axis 2: -2..1"):
            slice_of(self.x, [0], [1], [2])
        with pytest.raises(TensorError, match=r"axes \[1, -1\] of X .* name one axis twice"):
            slice_of(self.x, [0, 0], [1, 1], [1, -1])

    @pytest.mark.parametrize("sizes", [(2, 3), (5, -1), ()])
    def test_split(self, sizes: tuple[int, ...]) -> None:
        with pytest.raises(TensorError, match="do not add up to 4, axis 0 of X"):
            split(self.x, sizes)


@given(
    data=st.data(),
    shape=shapes(least=1),
    extents=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    dtype=st.sampled_from(["float32", "int8", "bool"]),
)
@settings(max_examples=60)
def test_concat_against_numpy(
    data: st.DataObject, shape: tuple[int, ...], extents: list[int], dtype: str
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    along = axis % len(shape)
    arrays = {
        f"x{number}": numbers(number, (*shape[:along], extent, *shape[along + 1 :]), dtype)
        for number, extent in enumerate(extents)
    }
    result = concat([given_as(name, array) for name, array in arrays.items()], axis)
    same(evaluate(result, arrays), np.concatenate(list(arrays.values()), axis))


def test_one_tensor_concatenated_twice() -> None:
    x = numbers(0, (2, 3))
    tensor = given_as("X", x)
    same(evaluate(concat([tensor, tensor], 0), {"X": x}), np.concatenate([x, x]))


def test_refusals_of_concat() -> None:
    a = placeholder((2, 3), FLOAT32, "A")
    with pytest.raises(TensorError, match="concat c: there is no tensor"):
        concat([], 0, name="c")
    with pytest.raises(TensorError, match=r"A float32\[2, 3\] has no axis 2: -2..1"):
        concat([a], 2)
    for other in (
        placeholder((2, 4), FLOAT32, "B"),
        placeholder((2, 3, 1), FLOAT32, "B"),
        placeholder((2, 3), INT8, "B"),
    ):
        with pytest.raises(TensorError, match=r"B .* and A float32\[2, 3\] differ beside axis 0"):
            concat([a, other], 0)
