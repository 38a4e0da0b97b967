"""Reductions and what is computed along an axis: the graph's calls, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.operators.reductions import CONVERTERS
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.operators.parts import OneHot
from tandem.compiler.graph.operators.reductions import Arg, Reduction, Softmax
from tandem.compiler.graph.operators.shapes import Reshape, Squeeze
from tandem.compiler.ir.dtypes import INT8
from tests.support.compiler.frontends.converted import Converted


@pytest.fixture
def body() -> Converted:
    return Converted(CONVERTERS)


@pytest.mark.parametrize(
    ("opset", "operands", "attributes", "wanted"),
    [
        (11, (), {}, Reduction(None, True)),
        (11, (), {"axes": [1], "keepdims": 0}, Reduction((1,), False)),
        (13, (), {}, Reduction(None, True)),
        (13, ([0, -1],), {}, Reduction((0, -1), True)),
        (13, ([],), {}, Reduction(None, True)),
        (13, ([],), {"noop_with_empty_axes": 1}, Reduction((), True)),
        (13, (), {"noop_with_empty_axes": 1}, Reduction((), True)),
        (13, ([1],), {"noop_with_empty_axes": 1}, Reduction((1,), True)),
    ],
)
def test_axes(
    body: Converted, opset: int, operands: Any, attributes: dict[str, Any], wanted: Reduction
) -> None:
    arrays = (np.array(each, np.int64) for each in operands)
    body.node("ReduceSum", opset, body.value(2, 3, 4), *arrays, **attributes)
    assert body.calls == [("reduce_sum", body.calls[0][1], wanted)]


def test_means_of_images_are_pools(body: Converted) -> None:
    x = body.value(1, 3, 4, 5)
    for axes in ([2, 3], [-1, -2], [3, 2]):
        body.node("ReduceMean", 13, x, axes=axes)
    assert body.operators == ["global_average_pool"] * 3
    (found,) = body.node("ReduceMean", 13, x, axes=[2, 3], keepdims=0)
    assert found.shape == (1, 3)
    assert body.operators[3:] == ["global_average_pool", "squeeze"]
    (*_, squeeze) = body.calls
    assert squeeze[2] == Squeeze((2, 3))
    others = [
        ("ReduceMean", x, [1, 2]),
        ("ReduceMean", x, [2]),
        ("ReduceMax", x, [2, 3]),
        ("ReduceMean", body.value(1, 3, 4, 5, 6), [2, 3]),
        ("ReduceMean", body.value(1, 3, 4, 5, dtype=INT8), [2, 3]),
    ]
    for operator, value, axes in others:
        body.node(operator, 13, value, axes=axes)
        assert body.operators[-1] in ("reduce_mean", "reduce_max")
    body.node("ReduceMean", 13, x)
    assert body.calls[-1][2] == Reduction(None, True)


def test_along_an_axis(body: Converted) -> None:
    x = body.value(2, 3, 4)
    body.node("Softmax", 13, x)
    body.node("LogSoftmax", 13, x, axis=1)
    body.node("Softmax", 11, x, axis=2)
    assert [(call[0], call[2]) for call in body.calls] == [
        ("softmax", Softmax(2)),
        ("log_softmax", Softmax(1)),
        ("softmax", Softmax(2)),
    ]
    for axis in (3, -4):
        message = rf"^node n \(Softmax\): axis {axis} of float32\[2, 3, 4\]$"
        with pytest.raises(FrontendError, match=message):
            body.node("Softmax", 13, x, axis=axis)


@pytest.mark.parametrize(("axis", "shape"), [(0, (1, 24)), (1, (2, 12)), (-2, (2, 12))])
def test_along_all_axes_from_one_on(body: Converted, axis: int, shape: tuple[int, ...]) -> None:
    (found,) = body.node("Softmax", 11, body.value(2, 3, 4), axis=axis)
    assert found.shape == (2, 3, 4)
    assert body.operators == ["reshape", "softmax", "reshape"]
    assert [call[2] for call in body.calls] == [Reshape(shape), Softmax(1), Reshape((2, 3, 4))]


def test_the_greatest_element_alone(body: Converted) -> None:
    body.node("Hardmax", 13, body.value(2, 3, 4), axis=1)
    assert body.operators == ["arg_max", "one_hot"]
    assert [call[2] for call in body.calls] == [Arg(1, False), OneHot(3, 1)]
    values = body.calls[1][1][1]
    assert (values.tolist(), values.dtype) == ([0, 1], np.float32)
    message = r"^node n \(Hardmax\): not supported: axis 1 of float32\[2, N\]: give its shape$"
    with pytest.raises(UnsupportedError, match=message):
        body.node("Hardmax", 13, body.value(2, Dim(("N",))), axis=1)


def test_places_of_extremes(body: Converted) -> None:
    x = body.value(2, 3)
    body.node("ArgMax", 13, x, axis=1, keepdims=0, select_last_index=1)
    body.node("ArgMin", 11, x)
    assert [(call[0], call[2]) for call in body.calls] == [
        ("arg_max", Arg(1, False, True)),
        ("arg_min", Arg(0, True, False)),
    ]
