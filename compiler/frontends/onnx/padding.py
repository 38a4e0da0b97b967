"""Padding behind the counts of bounded tensors, set to numbers that change nothing."""

from __future__ import annotations

import numpy as np

from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Count, Value


def filled(node: Node, value: Value, axis: int, count: Count, number: float | bool) -> Value:
    """The value with `number` in place of the padding along an axis."""
    shape = [1] * value.rank
    shape[axis] = node.extent(axis, value)
    places = node.constant(np.arange(shape[axis], dtype=np.int64).reshape(shape))
    return node.call(
        "where", node.call("less", places, count.size), value, _like(node, value, number)
    )


def lowest(value: Value) -> float | bool:
    """The lowest number of a value's type."""
    dtype = value.dtype
    return -np.inf if dtype.is_float else dtype.low


def highest(value: Value) -> float | bool:
    """The highest number of a value's type."""
    dtype = value.dtype
    return np.inf if dtype.is_float else dtype.high


def _like(node: Node, value: Value, number: float | bool) -> Value:
    return node.constant(np.array(number, value.dtype.numpy))
