"""Layers and pools of ONNX Runtime on integers: what ONNX Runtime computes, each form once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.frontends.random_nodes import Array, RandomNode

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tests.support.compiler.frontends.runtime_nodes import node
from tests.support.compiler.frontends.runtime_runs import differences, refusal

RANDOM = np.random.default_rng(5)


def integers(*shape: int, dtype: Any = np.uint8) -> Array:
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)


def scale(number: float) -> Array:
    return np.asarray(np.float32(number))


def zero(number: int, dtype: Any = np.uint8) -> Array:
    return np.asarray(dtype(number))


def equal(made: RandomNode) -> None:
    found = differences(made)
    assert found.by_one == 0


def pool(operator: str, data: Array, **attributes: Any) -> RandomNode:
    dtype = data.dtype.type
    given = (data, scale(0.11), zero(3, dtype), scale(0.037), zero(9, dtype))
    return node(operator, *given, **attributes)


AVERAGES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "as given": ((2, 3, 7), {"kernel_shape": [3]}),
    "padding is left out": ((1, 2, 5, 6), {"kernel_shape": [2, 3], "pads": [1, 2, 0, 1]}),
    "padding is counted": (
        (1, 2, 5, 6),
        {"kernel_shape": [2, 3], "pads": [1, 2, 0, 1], "count_include_pad": 1},
    ),
    "up": ((1, 2, 6, 5), {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}),
    # Windows of 2 from 0, 2 and, within the data, 4; with one more row, from -1, 1 and 3.
    "up, counted": (
        (1, 2, 5, 6),
        {
            "kernel_shape": [2, 3],
            "strides": [2, 4],
            "pads": [0, 1, 0, 0],
            "ceil_mode": 1,
            "count_include_pad": 1,
        },
    ),
    "up, counted, where no window begins behind the data": (
        (1, 2, 4, 5),
        {
            "kernel_shape": [2, 2],
            "strides": [2, 3],
            "pads": [0, 1, 1, 1],
            "ceil_mode": 1,
            "count_include_pad": 1,
        },
    ),
    "up, counted, with steps behind the data": (
        (1, 2, 5, 7),
        {"kernel_shape": [2, 2], "strides": [5, 6], "ceil_mode": 1, "count_include_pad": 1},
    ),
    "channels last": (
        (1, 4, 5, 2),
        {"kernel_shape": [2, 3], "pads": [1, 0, 0, 2], "channels_last": 1},
    ),
    "same": ((1, 2, 5, 6), {"kernel_shape": [2, 4], "auto_pad": "SAME_LOWER"}),
}


@pytest.mark.parametrize("case", AVERAGES)
def test_averages(case: str) -> None:
    shape, attributes = AVERAGES[case]
    for dtype in (np.uint8, np.int8):
        equal(pool("QLinearAveragePool", integers(*shape, dtype=dtype), **attributes))


@pytest.mark.parametrize("last", [0, 1])
def test_global_averages(last: int) -> None:
    equal(pool("QLinearGlobalAveragePool", integers(2, 3, 4, 5), channels_last=last))


def test_maxima_have_channels_last() -> None:
    data = integers(2, 5, 6, 3)
    up = {"kernel_shape": [2, 3], "strides": [2, 2], "ceil_mode": 1}
    equal(node("NhwcMaxPool", data, **up))
    equal(node("NhwcMaxPool", data, kernel_shape=[3, 2], pads=[0, 1, 2, 0], dilations=[1, 2]))


A, B = integers(4, 5), integers(5, 3) >> 1
BIAS = RANDOM.integers(-4000, 4000, 3).astype(np.int32)
GEMM = (A, scale(0.1), zero(7), B, scale(0.2), zero(4), BIAS, scale(3.3), zero(11))


def gemm(operands: tuple[Array | None, ...] = GEMM, **attributes: Any) -> RandomNode:
    return node("QGemm", *operands, **attributes)


def test_products() -> None:
    equal(gemm())
    equal(gemm(alpha=0.3))
    equal(gemm((*GEMM[:6], None, *GEMM[7:])))
    equal(gemm((A.T.copy(), *GEMM[1:3], B.T.copy(), *GEMM[4:]), transA=1, transB=1))


@pytest.mark.parametrize("trans_b", [0, 1])
def test_products_with_a_scale_of_each_column(trans_b: int) -> None:
    columns = np.array([0.1, 0.2, 0.4], np.float32), np.array([3, 0, 200], np.uint8)
    square = integers(3, 3)
    operands = (integers(4, 3), *GEMM[1:3], square, *columns, *GEMM[6:])
    equal(gemm(operands, transB=trans_b, alpha=1.5))


def test_products_are_floats_without_a_scale() -> None:
    equal(gemm(GEMM[:7]))
    equal(gemm(GEMM[:6]))


def test_products_of_matrices_only() -> None:
    many, result = integers(2, 4, 5), integers(4, 3)
    assert "float32[2, 4, 5] and uint8[5, 3] are no matrices" in refusal(
        gemm((many, *GEMM[1:])), result
    )
    assert "float32[4, 5] and uint8[5] are no matrices" in refusal(
        gemm((*GEMM[:3], B[:, 0].copy(), *GEMM[4:])), result
    )


def test_convolutions() -> None:
    data, weights = integers(1, 4, 5, 6), integers(6, 2, 2, 3) >> 1
    bias = RANDOM.integers(-4000, 4000, 6).astype(np.int32)
    scales = (scale(0.1), zero(130), weights, scale(0.02), zero(64), scale(1.7), zero(120))
    first = node("QLinearConv", data, *scales, bias, group=2, strides=[1, 2], pads=[1, 0, 0, 2])
    equal(first)
    last = np.ascontiguousarray(np.moveaxis(data, 1, -1))
    equal(
        replace(
            first,
            operands=(last, *first.operands[1:]),
            attributes={**first.attributes, "channels_last": 1},
        )
    )


def test_what_an_operator_takes() -> None:
    data = integers(1, 2, 5)
    average = pool("QLinearAveragePool", data, kernel_shape=[2])
    without = replace(average, operands=(*average.operands[:2], None, average.operands[3]))
    assert refusal(replace(average, attributes={}), data).endswith(
        "kernel_shape [] for data float32[1, 2, 5]"
    )
    assert "operand y_scale is missing" in refusal(
        replace(average, operands=average.operands[:3]), data
    )
    whole = pool("QLinearGlobalAveragePool", data)
    assert "operand x_zero_point is missing" in refusal(
        replace(whole, operands=without.operands), data
    )
    assert "attribute channels_last" in refusal(
        node("NhwcMaxPool", data, kernel_shape=[2], channels_last=1), data
    )
    product = refusal(gemm((A, *GEMM[1:6], BIAS.astype(np.int64))), integers(4, 3))
    assert "operand C is int64: int32 is possible" in product
