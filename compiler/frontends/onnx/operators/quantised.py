"""Quantised operators.

Operators on integers with scales (`QLinearConv`) are converted to the QDQ form that current
quantisers export: dequantise, compute, quantise. Passes need to handle this form only.
"""

from __future__ import annotations

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.convolutions import (
    convolution,
    spatial_kernel,
    windows_of,
)
from tandem.compiler.frontends.onnx.operators.spatial import channels_as_given, channels_first
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.extents import Extent
from tandem.compiler.graph.operators.elementwise import Clip
from tandem.compiler.graph.operators.parts import Gather
from tandem.compiler.graph.operators.products import Product
from tandem.compiler.graph.operators.quantised import Dequantise, Quantise
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.ir.dtypes import FLOAT32, INT32, UINT8, DType


def quantize(node: Node) -> Value:
    """The result of `QuantizeLinear`."""
    to = UINT8
    if node.integer("output_dtype", 0):
        to = node.element_type(node.integer("output_dtype"))
    given = node.optional(2)
    to = to if given is None else given.dtype
    if to.is_integer and not node.integer("block_size", 0):
        data, scale, zero, axis = _scaled(node)
        return quantised(node, data, scale, zero, axis, to)
    data, scale, zero = _of_elements(node)
    quotient = node.call("divide", data, scale)
    if to.is_integer:
        quotient = node.call("round_even", quotient)
    if zero is not None:
        quotient = node.call("add", quotient, node.cast(zero, quotient.dtype))
    # Casts of floats saturate.
    return node.cast(quotient, to)


def dequantize(node: Node) -> Value:
    """The result of `DequantizeLinear`."""
    to = node.input(1).dtype
    if node.integer("output_dtype", 0):
        to = node.element_type(node.integer("output_dtype"))
    if node.input(0).dtype.is_integer and not node.integer("block_size", 0):
        return node.cast(dequantised(node, *_scaled(node)), to)
    data, scale, zero = _of_elements(node)
    centred = data if zero is None else _centred(node, data, zero)
    return node.cast(node.call("multiply", node.cast(centred, scale.dtype), scale), to)


def _of_elements(node: Node) -> tuple[Value, Value, Value | None]:
    """The data, and a scale and a zero point for each element, from those of blocks or channels."""
    data, scale, zero = _operands(node)
    size = node.integer("block_size", 0)
    if size == 0:
        axis, shape = _scaled(node)[-1], list[Extent]()
        if scale.type.size != 1:
            shape = [1] * data.rank
            shape[axis] = scale.shape[0]
        spread = None if zero is None else node.reshape(zero, shape)
        return data, node.reshape(scale, shape), spread
    (axis,) = node.axes([node.integer("axis")], data)
    axis %= data.rank
    extent = node.extent(axis, data)
    count = -(-extent // max(size, 1))
    wanted = (*data.shape[:axis], count, *data.shape[axis + 1 :])
    if size < 1 or scale.shape != wanted or (zero is not None and zero.shape != wanted):
        node.refuse(f"blocks of {size} along axis {axis} of {data.type}: scales {scale.type}")
    indices = node.constant(np.arange(extent) // size)
    to = Gather(axis)
    repeated = None if zero is None else node.call("gather", zero, indices, to=to)
    return data, node.call("gather", scale, indices, to=to), repeated


def _operands(node: Node) -> tuple[Value, Value, Value | None]:
    """Data, scales and zero points; stored floats among them as float32."""
    data, scale = (_wide(node, node.input(position)) for position in range(2))
    zero = node.optional(2)
    return data, scale, None if zero is None else _wide(node, zero)


def _wide(node: Node, value: Value) -> Value:
    return node.cast(value, FLOAT32) if value.dtype.is_stored_float else value


def _scaled(node: Node) -> tuple[Value, Value, Value | None, int]:
    """The data, scales, zero points, and the axis of per-channel scales."""
    data, scale, zero = _operands(node)
    # With a single scale the axis does not matter.
    single = scale.type.size == 1
    return data, scale, zero, min(1, data.rank - 1) if single else node.integer("axis", 1)


def quantised(
    node: Node, data: Value, scale: Value, zero: Value | None, axis: int, to: DType
) -> Value:
    """Real numbers as integers of type `to`; a zero point that is missing is 0."""
    _check_finite(node, scale)
    return node.call("quantise", data, scale, _zero(node, scale, zero, to), to=Quantise(axis, to))


def dequantised(node: Node, data: Value, scale: Value, zero: Value | None, axis: int) -> Value:
    """The real numbers that integers stand for; a zero point that is missing is 0."""
    _check_finite(node, scale)
    return node.call(
        "dequantise", data, scale, _zero(node, scale, zero, data.dtype), to=Dequantise(axis)
    )


def _check_finite(node: Node, scale: Value) -> None:
    if scale.known is not None and not np.isfinite(scale.known.astype(np.float64)).all():
        node.refuse("a scale is NaN or infinite")


def _zero(node: Node, scale: Value, zero: Value | None, dtype: DType) -> Value:
    if zero is not None:
        return zero
    return node.constant(np.zeros(scale.type.static_shape("scales"), dtype.numpy))


def linear_conv(node: Node) -> Value:
    """The result of `QLinearConv`, whose channels come last in ONNX Runtime's if it says so."""
    x, x_scale, x_zero, weight, w_scale, w_zero, y_scale, y_zero = (
        node.input(position) for position in range(8)
    )
    bias = node.optional(8)
    data = dequantised(node, channels_first(node, x), x_scale, x_zero, 1)
    kernel = spatial_kernel(node, data, weight)
    weights = dequantised(node, weight, w_scale, w_zero, 0)
    if bias is not None:
        both = node.call("multiply", node.reshape(x_scale, ()), node.reshape(w_scale, (-1,)))
        bias = dequantised(node, bias, both, None, 0)
    result = convolution(node, data, weights, bias, windows_of(node, data, kernel))
    return channels_as_given(node, quantised(node, result, y_scale, y_zero, 1, y_zero.dtype))


def _linear_matmul(node: Node) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (
        node.input(position) for position in range(8)
    )
    rows = 0 if a_scale.type.size == 1 else a.rank - 2
    left = dequantised(node, a, a_scale, a_zero, rows)
    right = dequantised(node, b, b_scale, b_zero, b.rank - 1)
    result = node.call("matmul", left, right, to=Product())
    return quantised(node, result, y_scale, y_zero, 0, y_zero.dtype)


def _conv_integer(node: Node) -> Value:
    x, weight = node.input(0), node.input(1)
    kernel = spatial_kernel(node, x, weight)
    channels = weight.shape[0]
    w_zero = node.optional(3)
    if w_zero is not None and w_zero.type.size != 1:
        w_zero = node.reshape(w_zero, (channels, *(1,) * (weight.rank - 1)))
    operands = (_centred(node, x, node.optional(2)), _centred(node, weight, w_zero))
    return convolution(node, *operands, None, windows_of(node, x, kernel))


def _matmul_integer(node: Node) -> Value:
    return integer_product(node, node.input(0), node.input(1), node.optional(2), node.optional(3))


def integer_product(
    node: Node, a: Value, b: Value, a_zero: Value | None, b_zero: Value | None
) -> Value:
    """The product of integers without their zero points, in int32."""
    if a_zero is not None and a_zero.rank == 1 and a_zero.type.size != 1:
        # A zero point for each row.
        a_zero = node.reshape(a_zero, (*a_zero.shape, 1))
    operands = (_centred(node, a, a_zero), _centred(node, b, b_zero))
    return node.call("matmul", *operands, to=Product())


def _centred(node: Node, data: Value, zero: Value | None) -> Value:
    """The data minus the zero point: of integers in int32."""
    wide = node.cast(data, INT32) if data.dtype.is_integer else data
    if zero is None:
        return wide
    if zero.type.size == 1:
        zero = node.reshape(zero, ())
    return node.call("subtract", wide, node.cast(zero, wide.dtype))


def dynamic(node: Node) -> tuple[Value, ...]:
    """The results of `DynamicQuantizeLinear`: integers, scale and zero point."""
    data = node.input(0)
    zero = node.number(0, data)
    whole = Reduction(None, False)
    high = node.call("maximum", node.call("reduce_max", data, to=whole), zero)
    low = node.call("minimum", node.call("reduce_min", data, to=whole), zero)
    extent = node.call("subtract", high, low)
    # Of zeros, as in ONNX's reference; the standard divides by 0.
    is_zero = node.call("equal", extent, zero)
    extent = node.call("where", is_zero, node.number(1, data), extent)
    scale = node.call("divide", extent, node.number(UINT8.high, data))
    place = node.call("divide", node.call("subtract", zero, low), scale)
    kept = node.call("clip", node.call("round_even", place), to=Clip(0.0, float(UINT8.high)))
    point = node.cast(kept, UINT8)
    axis = min(1, data.rank - 1)
    return quantised(node, data, scale, point, axis, UINT8), node.cast(scale, FLOAT32), point


_LIMITS = "integers of 2 to 32 bits, and float4e2m1"

CONVERTERS: tuple[Converter, ...] = (
    Converter("QuantizeLinear", (10, 13, 19, 21, 23, 24, 25, 28), quantize, _LIMITS, True),
    Converter("DequantizeLinear", (10, 13, 19, 21, 23, 24, 25, 28), dequantize, _LIMITS, True),
    Converter("QLinearConv", (10,), linear_conv, "one to three spatial axes; computed in floats"),
    Converter("QLinearMatMul", (10, 21), _linear_matmul, "computed in floats"),
    Converter("ConvInteger", (10,), _conv_integer, "one to three spatial axes"),
    Converter("MatMulInteger", (10,), _matmul_integer),
    Converter("DynamicQuantizeLinear", (11,), dynamic),
)
