"""Products whose weights may be compressed, and what their weights are multiplied with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.graph import Call, Constant, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.products import Conv2d, Gemm
from tandem.compiler.quantise.compressed.products import (
    PRODUCTS,
    WeightedProduct,
    product_of,
    weighted_products,
)
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.operators.operators import Array

W = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


def let(name: str, weights: Array, given: object = None) -> Let:
    spec = OPERATORS[name]
    attributes = spec.attributes() if given is None else given
    return Let("y", Call(spec, (Var("x"), Constant(weights)), attributes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "given", "axis"),
    [
        ("dense", None, 0),
        ("matmul", None, 1),
        ("gemm", Gemm(trans_b=True), 0),
        ("gemm", Gemm(), 1),
    ],
)
def test_output_channels_come_first(name: str, given: object, axis: int) -> None:
    found = product_of(let(name, W, given))
    assert found is not None
    assert (found.name, found.data, found.axis, found.windows) == ("y", "x", axis, None)
    np.testing.assert_array_equal(found.weights, W if axis == 0 else W.T)
    assert found.weights.flags["C_CONTIGUOUS"]
    assert found.groups == 1
    assert name in PRODUCTS


def test_convolutions() -> None:
    given = Conv2d(groups=2)
    found = product_of(let("conv2d", W.reshape(2, 3, 1, 1), given))
    assert found is not None
    assert (found.axis, found.windows, found.groups) == (0, given, 2)


def test_what_is_no_product() -> None:
    assert product_of(replace(let("dense", W), keep_float=True)) is None
    for weights in (
        W.astype(np.int8),
        np.array([[1, np.nan]], np.float32),
        np.array([[np.inf, 1]], np.float32),
        np.ones(3, np.float32),
        np.ones((0, 3), np.float32),
    ):
        assert product_of(let("matmul", weights)) is None
    assert product_of(let("add", W)) is None
    spec = OPERATORS["dense"]
    assert product_of(Let("y", Call(spec, (Var("x"), Var("w")), spec.attributes()))) is None
    assert product_of(Let("y", Call(spec, (Constant(W), Var("w")), spec.attributes()))) is None


def test_bodies_within() -> None:
    function: Function = graph("""
func @f(x: float32[1, 2], c: bool[], w: float32[1, 2]):
  a = dense(x, float32[1, 2](1.0, 2.0))
  r = if c:
    b = dense(x, float32[1, 2](3.0, 4.0))
    yield b
  else:
    d = dense(x, w)
    yield d
  return r
""")
    assert [each.name for each in weighted_products(function)] == ["a", "b"]


def matrix() -> WeightedProduct:
    return WeightedProduct("y", "x", W, 0)


def test_rows_of_matrices() -> None:
    data = np.arange(18.0).reshape(2, 3, 3)
    assert matrix().rows(data, 99).tolist() == data.reshape(6, 3).tolist()
    assert matrix().rows(data, 99).dtype == np.float32
    # Three of six at even distances.
    assert matrix().rows(data, 3)[:, 0].tolist() == [0, 6, 12]
    assert matrix().rows(data, 4)[:, 0].tolist() == [0, 3, 9, 12]
    assert matrix().rows(data, 1)[:, 0].tolist() == [0]
    assert matrix().rows(np.zeros((0, 3)), 4).shape == (0, 3)


def test_rows_of_windows() -> None:
    """Sums of rows times weights are the convolution."""
    rng = np.random.default_rng(0)
    data, weights = rng.integers(-5, 5, (2, 3, 6, 5)), rng.integers(-5, 5, (4, 3, 2, 2))
    given = Conv2d(strides=(2, 1), padding=(1, 0, 0, 2), dilation=(1, 3))
    found = WeightedProduct("y", "x", weights, 0, given).rows(data, 1000)
    padded = np.pad(data, ((0, 0), (0, 0), (1, 0), (0, 2)))
    rows = []
    for image in range(2):
        for down in range(0, 6, 2):
            for across in range(4):
                window = padded[image, :, down : down + 2, across : across + 4 : 3]
                # Channels of a position side by side.
                rows.append(np.moveaxis(window, 0, -1).reshape(-1))
    assert found.tolist() == np.array(rows).tolist()
    few = WeightedProduct("y", "x", weights, 0, given).rows(data, 5)
    assert few.tolist() == np.array(rows)[[0, 4, 9, 14, 19]].tolist()
