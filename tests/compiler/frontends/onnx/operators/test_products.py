"""Products of matrices: dense layers where they are some, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.frontends.onnx.operators.products import CONVERTERS
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.operators.products import Gemm, Product
from tandem.compiler.graph.operators.shapes import Reshape
from tandem.compiler.ir.dtypes import FLOAT32, INT32, DType
from tests.support.compiler.frontends.converted import Converted

N = Dim(("N",))
WEIGHT = np.arange(15, dtype=np.float32).reshape(3, 5)


@pytest.fixture
def body() -> Converted:
    return Converted(CONVERTERS)


def test_dense_layers(body: Converted) -> None:
    x, bias = body.value(2, 3), body.value(5)
    (found,) = body.node("Gemm", 13, x, WEIGHT, bias)
    assert found.shape == (2, 5)
    # A transposed constant is one, too, or what is computed of one.
    assert body.calls[-1][0] == "dense"
    assert body.calls[-1][2] == Product()
    body.node("Gemm", 13, x, body.value(5, 3), bias, transB=1)
    body.node("Gemm", 13, x, body.value(5, 3), transB=1)
    assert body.operators[-2:] == ["dense", "dense"]
    assert [len(call[1]) for call in body.calls[-2:]] == [3, 2]
    body.node("Gemm", 13, x, body.value(5, 3), body.value(1, 5), transB=1, beta=1.0)
    assert body.operators[-2:] == ["reshape", "dense"]
    assert body.calls[-2][2] == Reshape((5,))
    body.node("MatMul", 13, x, WEIGHT)
    assert body.operators[-1] == "dense"


@pytest.mark.parametrize(
    ("shape", "weight", "bias", "attributes"),
    [
        ((2, 3), (3, 5), (5,), {}),
        ((2, 3), (5, 3), (2, 5), {"transB": 1}),
        ((2, 3), (5, 3), (1,), {"transB": 1}),
        ((2, 3), (5, 3), (5,), {"transB": 1, "alpha": 2.0}),
        ((2, 3), (5, 3), (5,), {"transB": 1, "beta": 2.0}),
        ((3, 2), (5, 3), (5,), {"transB": 1, "transA": 1}),
    ],
)
def test_others_are_products(
    body: Converted,
    shape: tuple[int, ...],
    weight: tuple[int, ...],
    bias: tuple[int, ...],
    attributes: dict[str, Any],
) -> None:
    body.node("Gemm", 13, *(body.value(*each) for each in (shape, weight, bias)), **attributes)
    ((name, _, found),) = body.calls
    assert name == "gemm"
    assert found == Gemm(
        attributes.get("alpha", 1.0),
        attributes.get("beta", 1.0),
        bool(attributes.get("transA", 0)),
        bool(attributes.get("transB", 0)),
    )


def test_open_rows_are_no_matter_but_those_of_weights(body: Converted) -> None:
    body.node("Gemm", 13, body.value(N, 3), body.value(5, 3), body.value(5), transB=1)
    body.node("Gemm", 13, body.value(2, 3), body.value(N, 3), transB=1)
    assert body.operators == ["dense", "gemm"]


@pytest.mark.parametrize(
    ("shape", "other", "dtype", "wanted"),
    [
        ((2, 3), (3, 5), FLOAT32, Product()),
        ((4, 2, 3), (3, 5), FLOAT32, Product()),
        ((2, 3), (3, 5), INT32, Product(INT32)),
    ],
)
def test_matrices(
    body: Converted, shape: tuple[int, ...], other: tuple[int, ...], dtype: DType, wanted: Product
) -> None:
    body.node("MatMul", 13, body.value(*shape, dtype=dtype), body.value(*other, dtype=dtype))
    assert [(call[0], call[2]) for call in body.calls] == [("matmul", wanted)]


def test_constants_that_make_no_dense_layer(body: Converted) -> None:
    body.node("MatMul", 13, body.value(4, 2, 3), WEIGHT)
    body.node("MatMul", 13, body.value(2, 3), WEIGHT[None])
    body.node("MatMul", 13, body.value(2, 3, dtype=INT32), WEIGHT.astype(np.int32))
    body.node("Gemm", 13, body.value(2, 3, dtype=INT32), WEIGHT.astype(np.int32))
    assert body.operators == ["matmul", "matmul", "matmul", "gemm"]
