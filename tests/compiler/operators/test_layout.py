"""Operators that only move elements equal NumPy or ONNX's reference."""

from __future__ import annotations

from itertools import permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.operators.layout import (
    depth_to_space,
    expand,
    flatten,
    reshape,
    space_to_depth,
    squeeze,
    tile,
    transpose,
    unsqueeze,
    upsample,
)
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.broadcasts import broadcasting_shapes, shapes
from tests.support.compiler.operators.operators import evaluate, given_as, numbers, onnx, same

Shape = tuple[int, ...]


@pytest.mark.parametrize("perm", list(permutations(range(3))))
def test_transpose(perm: Shape) -> None:
    x = numbers(0, (2, 3, 4), "int8")
    same(evaluate(transpose(given_as("X", x), perm), {"X": x}), x.transpose(perm))


@given(shape=shapes())
@settings(max_examples=25)
def test_transpose_reverses_by_default(shape: Shape) -> None:
    x = numbers(0, shape, "float64")
    same(evaluate(transpose(given_as("X", x)), {"X": x}), x.transpose())


@pytest.mark.parametrize(
    ("shape", "into", "result"),
    [
        ((2, 3, 4), (24,), (24,)),
        ((24,), (2, 3, 4), (2, 3, 4)),
        ((2, 3, 4), (4, 3, 2), (4, 3, 2)),
        ((2, 3, 4), (2, 12), (2, 12)),
        ((2, 3, 4), (0, -1), (2, 12)),
        ((2, 3, 4), (0, 0, 2, -1), (2, 3, 2, 2)),
        ((1, 6, 1), (2, 1, 3), (2, 1, 3)),
        ((), (1, 1), (1, 1)),
        ((1, 1), (), ()),
        ((6, 10), (4, 15), (4, 15)),
        ((2, 0), (-1, 5), (0, 5)),
    ],
)
def test_reshape(shape: Shape, into: Shape, result: Shape) -> None:
    x = numbers(0, shape)
    same(evaluate(reshape(given_as("X", x), into), {"X": x}), x.reshape(result))


def test_reshape_to_an_empty_axis() -> None:
    x = numbers(0, (0, 3))
    same(evaluate(reshape(given_as("X", x), (3, 0), allow_zero=True), {"X": x}), x.reshape(3, 0))


@given(data=st.data(), shape=shapes(smallest=1, extent=6))
@settings(max_examples=50)
def test_reshape_to_any_shape(data: st.DataObject, shape: Shape) -> None:
    left = prod(shape)
    into: list[int] = []
    while left > 1 and len(into) < 4:
        into.append(data.draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0])))
        left //= into[-1]
    into.append(left)
    x = numbers(0, shape, "int16")
    same(evaluate(reshape(given_as("X", x), into), {"X": x}), x.reshape(into))


def test_axes_that_stay_are_not_divided() -> None:
    """The text of the index shows it: division only where an axis is joined or split."""
    result = reshape(placeholder((5, 2, 3, 7), FLOAT32, "X"), (5, 6, 7))
    assert result.source is not None
    n, joined, x = result.source.axes
    assert (
        result.source.value
        == placeholder((5, 2, 3, 7), FLOAT32, "X")[n, joined // 3, joined % 3, x]
    )


@pytest.mark.parametrize("axis", range(-3, 4))
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 0, 4)])
def test_flatten(axis: int, shape: Shape) -> None:
    x = numbers(0, shape)
    at = axis % 3 if axis < 3 else 3
    expected = x.reshape(prod(shape[:at]), prod(shape[at:]))
    same(evaluate(flatten(given_as("X", x), axis), {"X": x}), expected)


@pytest.mark.parametrize("axes", [None, (), (0,), (-2,), (0, 2)])
def test_squeeze(axes: Shape | None) -> None:
    x = numbers(0, (1, 3, 1, 4))
    expected = x.squeeze(axes) if axes is None or axes else x
    same(evaluate(squeeze(given_as("X", x), axes), {"X": x}), expected)


@pytest.mark.parametrize("axes", [(), (0,), (-1,), (1, 3), (-1, 0)])
def test_unsqueeze(axes: Shape) -> None:
    x = numbers(0, (2, 3))
    expected = np.expand_dims(x, axes) if axes else x
    same(evaluate(unsqueeze(given_as("X", x), axes), {"X": x}), expected)


@given(both=broadcasting_shapes(2))
@settings(max_examples=40)
def test_expand(both: tuple[Shape, Shape]) -> None:
    x = numbers(0, both[0])
    expected = x * np.ones(both[1], "float32")
    same(evaluate(expand(given_as("X", x), both[1]), {"X": x}), np.asarray(expected))


@pytest.mark.parametrize("repeats", [(1, 1), (2, 3), (0, 2), (1, 4)])
def test_tile(repeats: Shape) -> None:
    x = numbers(0, (2, 3))
    same(evaluate(tile(given_as("X", x), repeats), {"X": x}), np.tile(x, repeats))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space(block: int, mode: str) -> None:
    x = numbers(0, (2, 2 * block * block, 3, 4))
    result = depth_to_space(given_as("X", x), block, column_row_depth=mode == "CRD")
    same(evaluate(result, {"X": x}), onnx("DepthToSpace", x, blocksize=block, mode=mode))


@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("channels", [0, 1, 3])
def test_space_to_depth(block: int, channels: int) -> None:
    x = numbers(0, (2, channels, 2 * block, 3 * block))
    result = space_to_depth(given_as("X", x), block)
    same(evaluate(result, {"X": x}), onnx("SpaceToDepth", x, blocksize=block))


@pytest.mark.parametrize("factors", [(1, 1), (2, 2), (1, 3), (3, 2)])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 1, 1, 7), (2, 3, 0, 4)])
def test_upsample(shape: Shape, factors: tuple[int, int]) -> None:
    x = numbers(0, shape, "int8")
    result = evaluate(upsample(given_as("X", x), factors), {"X": x})
    same(result, x.repeat(factors[0], 2).repeat(factors[1], 3))


class TestRefusals:
    x = placeholder((2, 3, 4), FLOAT32, "X")

    def test_transpose(self) -> None:
        with pytest.raises(TensorError, match=r"transpose t: \[0, 1, 1\] is no order of the axes"):
            transpose(self.x, (0, 1, 1), name="t")
        with pytest.raises(TensorError, match=r"\[0, 1\] is no order"):
            transpose(self.x, (0, 1))

    @pytest.mark.parametrize(
        ("shape", "message"),
        [
            ((5, 5), r"X float32\[2, 3, 4\] into \[5, 5\]: 24 elements are not 25"),
            ((-1, -1), "only one extent can be -1"),
            ((-1, 5), "24 elements leave no whole extent for -1"),
            ((2, 3, 4, 0), "there is no axis 3 to take the extent of"),
            ((-2, 12), "-2 is no extent"),
        ],
    )
    def test_reshape(self, shape: Shape, message: str) -> None:
        with pytest.raises(TensorError, match=message):
            reshape(self.x, shape)

    def test_reshape_of_nothing(self) -> None:
        with pytest.raises(TensorError, match="0 elements leave no whole extent for -1"):
            reshape(placeholder((0, 3), FLOAT32, "E"), (0, -1), allow_zero=True)

    def test_axes(self) -> None:
        with pytest.raises(TensorError, match=r"flatten f: X .* has no axis 4: -3..2"):
            flatten(self.x, 4, name="f")
        with pytest.raises(TensorError, match=r"axis 1 of X .* has not extent 1"):
            squeeze(self.x, (1,))
        with pytest.raises(TensorError, match=r"X .* has no axis 5: -5..4"):
            unsqueeze(self.x, (0, 5))
        with pytest.raises(TensorError, match=r"axes \[0, -5\] name one axis twice"):
            unsqueeze(self.x, (0, -5))

    def test_shapes(self) -> None:
        with pytest.raises(TensorError, match=r"does not broadcast with \[2, 4, 4\]"):
            expand(self.x, (2, 4, 4))
        with pytest.raises(TensorError, match=r"repeats \[1, 2\] has to be 3 numbers"):
            tile(self.x, (1, 2))
        image = placeholder((1, 6, 4, 5), FLOAT32, "I")
        with pytest.raises(TensorError, match=r"I float32\[1, 6, 4, 5\] has no channels for"):
            depth_to_space(image, 2)
        with pytest.raises(TensorError, match="is not made of blocks of 2"):
            space_to_depth(image, 2)
        with pytest.raises(TensorError, match="4 dimensions, N, C, H, W"):
            space_to_depth(self.x, 1)
        with pytest.raises(TensorError, match="4 dimensions, N, C, H, W"):
            upsample(self.x, (2, 2))
        with pytest.raises(TensorError, match=r"upsample u: factors \[2, 0\] of I .*: two, from 1"):
            upsample(image, (2, 0), name="u")
