"""Layers and pools of ONNX Runtime on integers with scales, in QDQ form.

What `quantised.py` says of rounding holds here too. `QLinearAveragePool` of ONNX Runtime rounds
y / scale + zero point; `QLinearGlobalAveragePool`, `QLinearConv` and `QGemm` sum integers and scale
once. Channels may come last: then integers are transposed before and behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.definitions import BYTES, Default, Kind, define
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.domain import own_converter
from tandem.compiler.frontends.onnx.operators.microsoft.quantised import (
    ONE_TYPE,
    one,
    real,
    reals,
    result,
    rounded,
)
from tandem.compiler.frontends.onnx.operators.products import gemm, gemm_attributes
from tandem.compiler.frontends.onnx.operators.quantised import dequantised, linear_conv
from tandem.compiler.frontends.onnx.operators.spatial import (
    channels_as_given,
    channels_first,
    moved_to_back,
    moved_to_front,
)
from tandem.compiler.frontends.onnx.operators.windows import window_of
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.reductions import AveragePool, MaxPool
from tandem.compiler.ir.dtypes import FLOAT32


def _global_average(node: Node) -> Value:
    data = reals(node, channels_first(node, node.input(0)), 1)
    mean = node.call("global_average_pool", data)
    return channels_as_given(node, result(node, mean, 3))


def _average(node: Node) -> Value:
    data = reals(node, channels_first(node, node.input(0)), 1)
    kernel, strides, padding, dilation = window_of(node, data)
    up, counted = bool(node.integer("ceil_mode")), bool(node.integer("count_include_pad"))
    if up and counted:
        # The standard leaves out what a last window covers beyond the padding.
        padding, up = _whole_windows(node, data, kernel, strides, padding), False
    to = AveragePool(kernel, strides, padding, dilation, up, counted)
    return channels_as_given(node, result(node, node.call("average_pool", data, to=to), 3))


def _whole_windows(
    node: Node,
    data: Value,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[int, ...],
) -> tuple[int, ...]:
    """The padding of a pool that rounds its result's extents up, so that it covers all windows."""
    rank, after = len(kernel), []
    for axis in range(rank):
        extent, before = node.extent(axis + 2, data), padding[axis]
        space = extent + before + padding[rank + axis] - kernel[axis]
        last = -(-space // strides[axis]) * strides[axis]
        if last >= extent + before:
            # No window begins behind the data.
            last -= strides[axis]
        after.append(max(last + kernel[axis] - extent - before, 0))
    return (*padding[:rank], *after)


def _max_pool(node: Node) -> Value:
    data = moved_to_front(node, node.input(0))
    to = MaxPool(*window_of(node, data), bool(node.integer("ceil_mode")))
    return moved_to_back(node, node.call("max_pool", data, to=to))


def _gemm(node: Node) -> Value:
    """Integers, or real numbers without a scale of the result. `b` may have a scale by column."""
    a, b, bias = real(node, 0), node.input(3), node.optional(6)
    if a.rank != 2 or b.rank != 2:
        node.refuse(f"{a.type} and {b.type} are no matrices")
    given, scale = gemm_attributes(node), node.input(4)
    if given.alpha != 1:
        # The bias is in units of the products, alpha included.
        scale = node.call("multiply", scale, node.number(given.alpha, scale))
    weights = dequantised(node, b, scale, node.input(5), 0 if given.trans_b else 1)
    if bias is not None:
        unit = node.call("multiply", scale, one(node, node.input(1)))
        bias = node.call("multiply", node.cast(bias, FLOAT32), unit)
    found = gemm(node, a, weights, bias, replace(given, alpha=1.0))
    if node.optional(7) is None:
        return found
    return rounded(node, found, node.input(7), node.optional(8))


_POOLED: Final = "X: T, x_scale: float32, x_zero_point: T?, y_scale: float32, y_zero_point: T?"
_WINDOWS: Final[Mapping[str, Default]] = MappingProxyType(
    {
        "auto_pad": "NOTSET",
        "kernel_shape": Kind.INTS,
        "pads": Kind.INTS,
        "strides": Kind.INTS,
    }
)
_DEFINITIONS: Final = MappingProxyType(
    {
        "NhwcMaxPool": (
            _max_pool,
            define("x: T", "y: T", ONE_TYPE, ceil_mode=0, dilations=Kind.INTS, **_WINDOWS),
        ),
        "QGemm": (
            _gemm,
            define(
                "A: TA, a_scale: float32, a_zero_point: TA, B: TB, b_scale: float32, "
                "b_zero_point: TB, C: int32?, y_scale: float32?, y_zero_point: TY?",
                "Y: TY",
                {"TA": BYTES, "TB": BYTES, "TY": BYTES},
                alpha=1.0,
                transA=0,
                transB=0,
            ),
        ),
        "QLinearAveragePool": (
            _average,
            define(
                _POOLED,
                "Y: T",
                ONE_TYPE,
                ceil_mode=0,
                channels_last=0,
                count_include_pad=0,
                **_WINDOWS,
            ),
        ),
        "QLinearConv": (
            linear_conv,
            define(
                "x: T1, x_scale: float32, x_zero_point: T1, w: T2, w_scale: float32, "
                "w_zero_point: T2, y_scale: float32, y_zero_point: T3, B: int32?",
                "y: T3",
                {"T1": BYTES, "T2": BYTES, "T3": BYTES},
                channels_last=0,
                dilations=Kind.INTS,
                group=1,
                **_WINDOWS,
            ),
        ),
        "QLinearGlobalAveragePool": (
            _global_average,
            define(_POOLED.replace("?", ""), "Y: T", ONE_TYPE, channels_last=0),
        ),
    }
)
_LIMITS: Final = MappingProxyType(
    {
        "QLinearConv": "one to three spatial axes; computed in floats",
        "QGemm": "computed in floats",
    }
)

CONVERTERS: tuple[Converter, ...] = tuple(
    own_converter(name, convert, definition, _LIMITS.get(name, ""))
    for name, (convert, definition) in _DEFINITIONS.items()
)
