"""Slices equal NumPy's, and ONNX's where the standards differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import TensorError
from compiler.ir.dtypes import FLOAT32
from compiler.operators.slicing import slice_of, split
from compiler.te import placeholder
from tests.support.broadcasts import shapes
from tests.support.operators import evaluate, given_as, numbers, same

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
