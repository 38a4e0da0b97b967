"""How much operators multiply."""

from __future__ import annotations

import pytest

from tandem.compiler.ir import FLOAT32, INT8
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.operators.matmul import dense, matmul
from tandem.compiler.operators.reduce import reduce_sum
from tandem.compiler.te import placeholder
from tandem.compiler.te.build import macs_of


@pytest.mark.parametrize("dtype", [FLOAT32, INT8])
def test_convolutions(dtype: object) -> None:
    kind = FLOAT32 if dtype is FLOAT32 else INT8
    data = placeholder((2, 8, 14, 14), kind, "data")
    weight = placeholder((6, 4, 3, 3), kind, "weight")
    found = conv2d(data, weight, strides=(2, 2), padding=(1, 1, 1, 1), groups=2)
    assert macs_of([found]) == 2 * 6 * 7 * 7 * 4 * 3 * 3


def test_a_layer_and_what_follows() -> None:
    data = placeholder((2, 8), FLOAT32, "data")
    weight = placeholder((5, 8), FLOAT32, "weight")
    bias = placeholder((5,), FLOAT32, "bias")
    layer = dense(data, weight, bias=bias)
    assert macs_of([reduce_sum(layer, axes=(1,), name="sum")]) == 2 * 5 * 8


def test_each_product_once() -> None:
    a = placeholder((3, 4, 5), FLOAT32, "a")
    b = placeholder((5, 6), FLOAT32, "b")
    found = matmul(a, b)
    assert macs_of([found, found]) == 3 * 4 * 5 * 6
    assert macs_of([a]) == 0
