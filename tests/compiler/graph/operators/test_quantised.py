"""Quantised operators: types with symbols, where scales differ along an axis, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.operators.quantised import Dequantise, Quantise, Requantise
from tandem.compiler.ir.dtypes import INT8
from tests.support.compiler.graph.calls import refused, type_of, value
from tests.support.compiler.graph.graphs import same_values


def test_defaults() -> None:
    assert (Quantise(), Dequantise()) == (Quantise(1, INT8), Dequantise(1))
    assert Requantise(3, -1, 1) == Requantise(3, -1, 1, 1)


BOUNDS = "shift=9, low=-128, high=127"


@pytest.mark.parametrize(
    ("params", "call", "wanted"),
    [
        ("x: float32[N, M], s: float32[], z: int8[]", "quantise(x, s, z)", "int8[N, M]"),
        ("x: float32[N, M], s: float32[1], z: int8[]", "quantise(x, s, z)", "int8[N, M]"),
        ("x: float32[N, 3], s: float32[3], z: int8[3]", "quantise(x, s, z)", "int8[N, 3]"),
        ("x: float32[3, N], s: float32[3], z: int8[]", "quantise(x, s, z, axis=0)", "int8[3, N]"),
        ("x: float32[N, 3], s: float32[3], z: int8[]", "quantise(x, s, z, axis=-1)", "int8[N, 3]"),
        ("x: int8[N, 3], s: float32[3], z: int8[3]", "dequantise(x, s, z)", "float32[N, 3]"),
        (
            "x: int32[N, M], m: int32[1], a: int64[1]",
            f"requantise(x, m, a, {BOUNDS})",
            "int8[N, M]",
        ),
        (
            "x: int32[N, M], m: int32[1], a: int64[1], y: int8[N, M], n: int32[1]",
            f"requantise_add(x, m, a, y, n, {BOUNDS})",
            "int8[N, M]",
        ),
        (
            "x: int32[N, 3], m: int32[1], a: int64[1], y: int8[N, 3], n: int32[3]",
            f"requantise_add(x, m, a, y, n, {BOUNDS})",
            "int8[N, 3]",
        ),
        ("x: int8[N, M], t: int8[256]", "lookup(x, t)", "int8[N, M]"),
    ],
)
def test_types_with_symbols(params: str, call: str, wanted: str) -> None:
    assert type_of(params, call) == wanted


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        (
            "x: float32[N, M], s: float32[3], z: int8[]",
            "quantise(x, s, z)",
            "axis 1 of data .* has to be a number, not M",
        ),
        (
            "x: float32[N, M], s: float32[], z: int8[3]",
            "quantise(x, s, z)",
            "axis 1 of data .* a number, not M",
        ),
        (
            "x: float32[N, 2], s: float32[3], z: int8[]",
            "quantise(x, s, z, axis=2)",
            r"data float32\[N, 2\] has no axis 2: -2..1",
        ),
        (
            "x: float32[N, M], s: float32[3], z: int8[]",
            "quantise(x, s, z, axis=0)",
            "axis 0 of data .* a number, not N",
        ),
        (
            "x: int32[N, M], m: int32[1], a: int64[3]",
            f"requantise(x, m, a, {BOUNDS})",
            "axis 1 of acc .* a number, not M",
        ),
        (
            "x: int32[N, M], m: int32[1], a: int64[1], y: int8[N, M], n: int32[3]",
            f"requantise_add(x, m, a, y, n, {BOUNDS})",
            "axis 1 of acc .* a number, not M",
        ),
        (
            "x: int32[N, 3], m: int32[1], a: int64[1], y: int8[M, 3], n: int32[1]",
            f"requantise_add(x, m, a, y, n, {BOUNDS})",
            r"skip int8\[M, 3\] is not known to have the shape of acc int32\[N, 3\]",
        ),
        ("x: int8[N], t: int8[M]", "lookup(x, t)", "axis 0 of table .* a number, not M"),
    ],
)
def test_refusals(params: str, call: str, message: str) -> None:
    refused(params, call, message)


def test_values() -> None:
    x = np.array([[1.0, -3.0], [100.0, 0.4]], np.float32)
    scaled = "quantise(x, float32[2](0.5, 1.0), int8[2](1, 0))"
    same_values(value("x: float32[2, 2]", scaled, x), np.array([[3, -3], [127, 0]], np.int8))
    codes = np.array([[3, -3]], np.int8)
    back = value("x: int8[1, 2]", "dequantise(x, float32[2](0.5, 1.0), int8[2](1, 0))", codes)
    same_values(back, np.array([[1.0, -3.0]], np.float32))
