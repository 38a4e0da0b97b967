"""Attributes of spatial axes: numbers, padding of each kind, channels behind them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from onnx import helper

from tandem.compiler.errors import CompilerError, FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.builder import Builder
from tandem.compiler.frontends.onnx.definitions import standard
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.spatial import (
    channels_as_given,
    channels_first,
    in_first_order,
    moved_to_back,
    moved_to_front,
    padding_of,
    per_axis,
)
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph import Extent, Var
from tandem.compiler.graph.extents import Dim
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import FLOAT32

BUILDER = Builder(set())
"""Where all nodes and values of these tests are; nothing reads what is built."""


def node(**attributes: Any) -> Node:
    definition = standard("MaxPool", 12, "")
    assert definition is not None
    proto = helper.make_node("MaxPool", ["x"], ["y"], name="n", **attributes)
    return Node(proto, definition, [], {"y"}, BUILDER)


def value(*shape: Extent) -> Value:
    type_ = TensorType(shape, FLOAT32)
    return Value(type_, Var(BUILDER.param("x", type_).name))


def refused(message: str, kind: type[CompilerError] = FrontendError) -> pytest.RaisesExc[Any]:
    return pytest.raises(kind, match=re.escape(message))


def test_numbers_for_each_axis() -> None:
    assert per_axis(node(), "strides", 2) == (1, 1)
    assert per_axis(node(strides=[2, 3]), "strides", 2) == (2, 3)
    for given in ([2], [2, 3, 4], [0, 1], [1, -1]):
        with refused(f"strides {given}: 2 numbers of 1 or more are expected"):
            per_axis(node(strides=given), "strides", 2)


def padding(extents: tuple[Extent, ...], **attributes: Any) -> tuple[int, ...]:
    one = node(**attributes)
    count = len(extents)
    kernel, strides, far = ((3,) * count, (2,) * count, (1,) * count)
    return padding_of(one, value(1, 1, *extents), kernel, strides, far)


def test_padding_that_is_given() -> None:
    assert padding((6, 7)) == (0, 0, 0, 0)
    assert padding((6, 7), pads=[1, 2, 0, 3]) == (1, 2, 0, 3)
    assert padding((6, 7), auto_pad="VALID", pads=[1, 2, 0, 3]) == (0, 0, 0, 0)
    assert padding((6,), pads=[65536, 0]) == (65536, 0)
    for given in ([1], [1, 2, 3], [-1, 0, 0, 0], [0, 0, 0, 65537]):
        with refused(f"pads {given}: 4 numbers from 0 to 65536 are expected"):
            padding((6, 7), pads=given)


def test_padding_that_is_computed() -> None:
    # ceil(6 / 2) windows of 3 reach over 7, ceil(7 / 2) over 9.
    assert padding((6, 7), auto_pad="SAME_UPPER") == (0, 1, 1, 1)
    assert padding((6, 7), auto_pad="SAME_LOWER") == (1, 1, 0, 1)
    one = node(auto_pad="SAME_UPPER")
    wide = padding_of(one, value(1, 1, 9), (2,), (1,), (4,))
    assert wide == (2, 2)
    # Windows apart need none.
    assert padding_of(one, value(1, 1, 9), (1,), (4,), (1,)) == (0, 0)
    with refused("auto_pad SAME_UPPER of data float32[1, 1, N]: give its shape", UnsupportedError):
        padding((Dim(("N",)),), auto_pad="SAME_UPPER")
    with refused("auto_pad is 'SOME'"):
        padding((6,), auto_pad="SOME")


def test_channels_move() -> None:
    one = node()
    x = value(2, 5, 6, 3)
    front = moved_to_front(one, x)
    assert front.shape == (2, 3, 5, 6)
    assert moved_to_back(one, front).shape == (2, 5, 6, 3)
    flat = value(2, 5, 3)
    assert moved_to_front(one, flat).shape == (2, 3, 5)


def test_what_is_computed_before_transpositions() -> None:
    one = node()
    seen: list[tuple[tuple[Extent, ...], ...]] = []
    orders: list[tuple[int, ...]] = []

    def compute(values: Any, order: tuple[int, ...]) -> Value:
        seen.append(tuple(each.shape for each in values))
        orders.append(order)
        first: Value = values[0]
        return first

    plain, channels = value(2, 3, 5, 6), value(2, 3, 5, 6)
    back, other = moved_to_back(one, plain), moved_to_back(one, channels)
    assert in_first_order(one, [back, other], compute).shape == (2, 5, 6, 3)
    assert in_first_order(one, [back, plain], compute).shape == (2, 5, 6, 3)
    assert in_first_order(one, [plain], compute).shape == (2, 3, 5, 6)
    assert seen == [
        ((2, 3, 5, 6), (2, 3, 5, 6)),
        ((2, 5, 6, 3), (2, 3, 5, 6)),
        ((2, 3, 5, 6),),
    ]
    assert orders == [(0, 2, 3, 1), (0, 1, 2, 3), (0, 1, 2, 3)]


def test_channels_last_of_onnx_runtime() -> None:
    x = value(2, 5, 6, 3)
    for given, shape in ((1, (2, 3, 5, 6)), (0, (2, 5, 6, 3))):
        one = node(channels_last=given)
        front = channels_first(one, x)
        assert front.shape == shape
        assert channels_as_given(one, front).shape == (2, 5, 6, 3)
