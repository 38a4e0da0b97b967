"""Pools: attributes of the graph's calls, padding of each kind, and what is refused, by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import CompilerError, FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.operators.windows import CONVERTERS
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.operators.reductions import (
    AveragePool,
    LpPool,
    MaxPool,
    MaxPoolIndex,
    Reduction,
)
from tests.support.compiler.frontends.converted import Converted

TWO, NONE, ONES = (2, 2), (0, 0, 0, 0), (1, 1)


@pytest.fixture
def body() -> Converted:
    return Converted(CONVERTERS)


def refused(message: str, kind: type[CompilerError] = FrontendError) -> pytest.RaisesExc[Any]:
    start = "not supported: " if kind is UnsupportedError else ""
    return pytest.raises(kind, match=rf"^node n \(\w+\): {re.escape(start + message)}$")


def test_attributes(body: Converted) -> None:
    x = body.value(1, 3, 9, 9)
    given: dict[str, Any] = {"kernel_shape": [2, 3], "strides": [3, 2], "pads": [0, 1, 1, 2]}
    window = (2, 3), (3, 2), (0, 1, 1, 2)
    body.node("MaxPool", 12, x, **given, dilations=[2, 1], ceil_mode=1)
    body.node("AveragePool", 19, x, **given, count_include_pad=1)
    body.node("AveragePool", 7, x, kernel_shape=[2, 2])
    body.node("LpPool", 18, x, **given, p=3)
    body.node("LpPool", 1, x, kernel_shape=[2, 2], p=3.0)
    assert [call[2] for call in body.calls] == [
        MaxPool(*window, (2, 1), True),
        AveragePool(*window, ONES, False, True),
        AveragePool(TWO, ONES, NONE, ONES, False, False),
        LpPool(*window, ONES, False, 3),
        LpPool(TWO, ONES, NONE, ONES, False, 3),
    ]
    with refused("p is 2.5", UnsupportedError):
        body.node("LpPool", 1, x, kernel_shape=[2, 2], p=2.5)


def test_positions_of_the_greatest_elements(body: Converted) -> None:
    x = body.value(1, 3, 9, 9)
    assert len(body.node("MaxPool", 12, x, kernel_shape=[2, 2], outputs=2)) == 1
    assert body.operators == ["max_pool"]
    for order in (0, 1):
        found = body.node(
            "MaxPool", 12, x, kernel_shape=[2, 2], storage_order=order, outputs=2, used=2
        )
        assert len(found) == 2
        assert body.calls[-1][2] == MaxPoolIndex(TWO, ONES, NONE, ONES, False, bool(order))


@pytest.mark.parametrize(
    ("extent", "kernel", "stride", "gap", "upper"),
    [
        (6, 2, 1, 1, (0, 1)),
        (6, 3, 1, 1, (1, 1)),
        (6, 3, 2, 1, (0, 1)),
        (7, 3, 2, 1, (1, 1)),
        (7, 2, 3, 1, (0, 1)),
        (6, 2, 3, 1, (0, 0)),
        (6, 2, 1, 2, (1, 1)),
        (5, 4, 1, 1, (1, 2)),
    ],
)
def test_padding_that_keeps_the_size(
    body: Converted, extent: int, kernel: int, stride: int, gap: int, upper: tuple[int, int]
) -> None:
    x = body.value(1, 1, extent)
    given: dict[str, Any] = {"kernel_shape": [kernel], "strides": [stride], "dilations": [gap]}
    for mode, wanted in (("SAME_UPPER", upper), ("SAME_LOWER", upper[::-1]), ("VALID", (0, 0))):
        (found,) = body.node("MaxPool", 12, x, **given, auto_pad=mode)
        attributes = body.calls[-1][2]
        assert isinstance(attributes, MaxPool)
        assert attributes.padding == wanted
        if mode != "VALID":
            assert found.shape == (1, 1, -(-extent // stride))


def test_windows_that_are_none(body: Converted) -> None:
    x = body.value(1, 3, 9, 9)
    with refused("kernel_shape [2] for data float32[1, 3, 9, 9]"):
        body.node("MaxPool", 12, x, kernel_shape=[2])
    for strides in ([1], [1, 0]):
        with refused(f"strides {strides}: 2 numbers of 1 or more are expected"):
            body.node("MaxPool", 12, x, kernel_shape=[2, 2], strides=strides)
    with refused("dilations [0, 1]: 2 numbers of 1 or more are expected"):
        body.node("MaxPool", 12, x, kernel_shape=[2, 2], dilations=[0, 1])
    for pads in ([1, 1], [0, 0, 0, -1], [0, 0, 0, 65537]):
        with refused(f"pads {pads}: 4 numbers from 0 to 65536 are expected"):
            body.node("MaxPool", 12, x, kernel_shape=[2, 2], pads=pads)
    with refused("auto_pad is 'SAME'"):
        body.node("MaxPool", 12, x, kernel_shape=[2, 2], auto_pad="SAME")
    open_ = body.value(1, 3, Dim(("N",)))
    with refused("auto_pad SAME_UPPER of data float32[1, 3, N]: give its shape", UnsupportedError):
        body.node("MaxPool", 12, open_, kernel_shape=[2], auto_pad="SAME_UPPER")


def test_norms_of_whole_images(body: Converted) -> None:
    body.node("GlobalLpPool", 2, body.value(1, 3, 4, 5), p=3)
    assert body.operators == ["absolute", "power", "reduce_sum", "power"]
    assert body.calls[2][2] == Reduction((2, 3), True)
    powers = [call[1][1] for call in body.calls if call[0] == "power"]
    assert powers == [np.float32(3), np.float32(1 / 3)]
    with refused("float32[1, 3] has no spatial axes"):
        body.node("GlobalLpPool", 2, body.value(1, 3))
