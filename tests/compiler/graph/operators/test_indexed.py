"""Operators along axes and at positions: types with symbols, defaults, values, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.evaluate import NestedArray
from tandem.compiler.graph.operators.indexed import (
    Cumulative,
    Sample,
    ScatterElements,
    ScatterNd,
    TopK,
)
from tandem.compiler.operators.sample import Border, SampleMode
from tandem.compiler.operators.scatter import ScatterReduction
from tests.support.compiler.graph.calls import refused, type_of, value
from tests.support.compiler.graph.graphs import same_values


def test_defaults() -> None:
    assert Cumulative() == Cumulative(0, False, False)
    assert ScatterNd() == ScatterNd(ScatterReduction.NONE)
    assert ScatterElements() == ScatterElements(0, ScatterReduction.NONE)
    assert TopK(2) == TopK(2, -1, True)
    assert Sample() == Sample(SampleMode.LINEAR, Border.ZEROS)


COL2IM = "image=[2, 2], kernel=[2, 1], strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1]"


@pytest.mark.parametrize(
    ("params", "call", "wanted"),
    [
        ("x: int8[N, 3]", "cumulative_sum(x, axis=1)", "int8[N, 3]"),
        ("x: int8[3, N]", "cumulative_product(x)", "int8[3, N]"),
        ("x: int8[N, 3]", "top_k(x, k=1)", "int64[N, 1]"),
        ("x: int8[3, N]", "top_k(x, k=2, axis=0)", "int64[2, N]"),
        ("m: bool[N]", "true_positions(m)", "int64[N]"),
        ("x: float32[N, M, 4], p: float32[N, 2, 1]", "sample(x, p)", "float32[N, M, 2]"),
        ("x: float32[N, 4, 2]", f"col2im(x, {COL2IM})", "float32[N, 2, 2, 2]"),
        ("x: float32[N, M, 3, 3]", "determinant(x)", "float32[N, M]"),
    ],
)
def test_types_with_symbols(params: str, call: str, wanted: str) -> None:
    assert type_of(params, call) == wanted


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        ("x: int8[N, 3]", "cumulative_sum(x)", "axis 0 of data .* has to be a number, not N"),
        ("x: int8[N, 3]", "cumulative_sum(x, axis=2)", "data .* has no axis 2: -2..1"),
        ("x: int8[3, N]", "top_k(x, k=1)", "axis 1 of data .* a number, not N"),
        (
            "x: float32[N, 1, 4], p: float32[N, M, 1]",
            "sample(x, p)",
            "axis 1 of positions .* not M",
        ),
        ("x: float32[1, 1, N], p: float32[1, 2, 1]", "sample(x, p)", "axis 2 of data .* not N"),
        ("x: float32[1, N, 2]", f"col2im(x, {COL2IM})", "axis 1 of data .* not N"),
        ("x: float32[N, M, 3]", "determinant(x)", "axis 1 of data .* a number, not M"),
        ("x: float32[3, N]", "determinant(x)", "axis 1 of data .* a number, not N"),
        (
            "x: int8[N], i: int64[1], u: int8[1]",
            "scatter_elements(x, i, u)",
            "axis 0 of data .* a number, not N",
        ),
        ("x: int8[3], i: int64[N, 1], u: int8[N]", "scatter_nd(x, i, u)", "axis 0 of indices"),
    ],
)
def test_refusals(params: str, call: str, message: str) -> None:
    refused(params, call, message)


X = np.array([[1, 2, 3], [4, 5, 6]], np.int8)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("cumulative_sum(x, axis=1, exclusive=True)", [[0, 1, 3], [0, 4, 9]]),
        ("cumulative_product(x, reverse=True)", [[4, 10, 18], [4, 5, 6]]),
        ("scatter_elements(x, int64[1, 1](2), int8[1, 1](9), axis=1)", [[1, 2, 9], [4, 5, 6]]),
        (
            "scatter_elements(x, int64[1, 1](1), int8[1, 1](9), reduction=add)",
            [[1, 2, 3], [13, 5, 6]],
        ),
        ("scatter_nd(x, int64[1, 1](0), int8[1, 3](7, 8, 9))", [[7, 8, 9], [4, 5, 6]]),
        ("scatter_nd(x, int64[1, 2](0, 1), int8[1](9), reduction=mul)", [[1, 18, 3], [4, 5, 6]]),
    ],
)
def test_values(call: str, wanted: list[list[int]]) -> None:
    found: NestedArray = value("x: int8[2, 3]", call, X)
    same_values(found, np.array(wanted, np.int8))


def test_positions() -> None:
    found = value("x: int8[2, 3]", "top_k(x, k=2, largest=False)", X)
    same_values(found, np.array([[0, 1], [0, 1]]))
    mask = np.array([False, True, True])
    assert isinstance(positions := value("m: bool[3]", "true_positions(m)", mask), np.ndarray)
    assert positions[:2].tolist() == [1, 2]
