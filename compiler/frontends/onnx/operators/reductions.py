"""Reductions, softmax, hardmax, argmax and argmin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter, direct
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.padding import filled, highest, lowest
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.extents import product
from tandem.compiler.graph.operators.parts import OneHot
from tandem.compiler.graph.operators.reductions import Arg, Reduction, Softmax
from tandem.compiler.graph.operators.shapes import Squeeze

_Along: TypeAlias = Callable[[Value, int], Value]

REDUCTIONS: Final[Mapping[str, tuple[str, tuple[int, ...]]]] = MappingProxyType(
    {
        "ReduceL1": ("reduce_l1", (1, 11, 13, 18)),
        "ReduceL2": ("reduce_l2", (1, 11, 13, 18)),
        "ReduceLogSum": ("reduce_log_sum", (1, 11, 13, 18, 28)),
        "ReduceLogSumExp": ("reduce_log_sum_exp", (1, 11, 13, 18, 28)),
        "ReduceMax": ("reduce_max", (1, 11, 12, 13, 18, 20)),
        "ReduceMean": ("reduce_mean", (1, 11, 13, 18)),
        "ReduceMin": ("reduce_min", (1, 11, 12, 13, 18, 20)),
        "ReduceProd": ("reduce_prod", (1, 11, 13, 18)),
        "ReduceSum": ("reduce_sum", (1, 11, 13)),
        "ReduceSumSquare": ("reduce_sum_square", (1, 11, 13, 18)),
    }
)
"""The name of the graph operator of each reduction, and versions."""


NEUTRAL: Final[Mapping[str, Callable[[Value], float | bool]]] = MappingProxyType(
    {
        "ReduceL1": lambda _: 0,
        "ReduceL2": lambda _: 0,
        "ReduceMax": lowest,
        "ReduceMin": highest,
        "ReduceProd": lambda _: 1,
        "ReduceSum": lambda _: 0,
        "ReduceSumSquare": lambda _: 0,
    }
)
"""The number that changes no result of a reduction of a tensor."""


def reduced_axes(node: Node) -> tuple[int, ...] | None:
    """The axes of a reduction; None for all."""
    axes = node.integers("axes") if node.has("axes") else node.numbers(1)
    if axes:
        return axes
    # An empty list means the same as no list: all axes, or none with `noop_with_empty_axes`.
    return () if node.integer("noop_with_empty_axes", 0) else None


def _reduce(node: Node) -> Value:
    data, axes = node.input(0), reduced_axes(node)
    gone = range(data.rank) if axes is None else [axis % data.rank for axis in axes]
    for axis, count in node.counts(0).items():
        if axis in gone and node.operator in NEUTRAL:
            data = filled(node, data, axis, count, NEUTRAL[node.operator](data))
    keepdims = bool(node.integer("keepdims"))
    images = axes is not None and data.rank == 4 and {each % 4 for each in axes} == {2, 3}
    if node.operator == "ReduceMean" and data.dtype.is_float and images:
        # PyTorch exports a global average pool as a mean over axes 2 and 3.
        pooled = node.call("global_average_pool", data)
        return pooled if keepdims else node.call("squeeze", pooled, to=Squeeze((2, 3)))
    return node.call(REDUCTIONS[node.operator][0], data, to=Reduction(axes, keepdims))


def _softmax(node: Node) -> Value:
    name = "softmax" if node.operator == "Softmax" else "log_softmax"
    return _along(node, lambda x, axis: node.call(name, x, to=Softmax(axis)))


def _hardmax(node: Node) -> Value:
    def one(x: Value, axis: int) -> Value:
        index = node.call("arg_max", x, to=Arg(axis, False))
        values = node.constant(np.array([0, 1], x.dtype.numpy))
        return node.call("one_hot", index, values, to=OneHot(node.extent(axis, x), axis))

    return _along(node, one)


def _along(node: Node, function: _Along) -> Value:
    """Apply a function along `axis`; up to opset 12, along the flattened axes from `axis` on."""
    data, axis = node.input(0), node.integer("axis")
    if not -data.rank <= axis < data.rank:
        node.refuse(f"axis {axis} of {data.type}")
    axis %= data.rank
    if node.version >= 13 or axis == data.rank - 1:
        return function(data, axis)
    flat = node.reshape(data, (product(data.shape[:axis]), product(data.shape[axis:])))
    return node.reshape(function(flat, 1), data.shape)


CONVERTERS: tuple[Converter, ...] = (
    *(
        Converter(name, versions, _reduce, "axes known at import")
        for name, (_, versions) in REDUCTIONS.items()
    ),
    Converter("ArgMax", (1, 11, 12, 13), direct("arg_max")),
    Converter("ArgMin", (1, 11, 12, 13), direct("arg_min")),
    Converter("Softmax", (1, 11, 13), _softmax),
    Converter("LogSoftmax", (1, 11, 13), _softmax),
    Converter("Hardmax", (1, 11, 13), _hardmax),
)
