"""ONNX Runtime's operators on integers with scales, in the form of the standard's QDQ models.

`QLinearAdd` becomes the addition between `dequantise` and `quantise`, with the model's own scales,
so that all that takes QDQ models takes these. Real numbers are computed in float32, results are
round(y / scale) + zero point, halves to even, as `QuantizeLinear` says. Results of ONNX Runtime are
the same unless y / scale lies so near a half that float32 decides; there one step is possible:

- `QLinearAdd`, `QLinearMul` and `QLinearAveragePool` of ONNX Runtime round y / scale + zero point,
  so that halves go the other way where the zero point is odd.
- `QLinearGlobalAveragePool` and `QGemm` sum integers and scale once.
- `QLinearSigmoid`, `QLinearLeakyRelu` and `QLinearConcat` look up tables of the same formula.
- `QLinearSoftmax` divides by the step 1 / floor(1 / scale), which is taken here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from compiler.frontends.onnx.converter import Convert, Converter
from compiler.frontends.onnx.definitions import BYTES, NARROW, Default, Kind, define
from compiler.frontends.onnx.node import Node
from compiler.frontends.onnx.operators.microsoft.domain import DOMAIN
from compiler.frontends.onnx.operators.products import gemm, gemm_attributes
from compiler.frontends.onnx.operators.quantised import (
    dequantised,
    dequantize,
    linear_conv,
    quantised,
    quantize,
)
from compiler.frontends.onnx.operators.spatial import (
    channels_as_given,
    channels_first,
    moved_to_back,
    moved_to_front,
)
from compiler.frontends.onnx.operators.windows import window_of
from compiler.frontends.onnx.values import Value
from compiler.graph.operators import OPERATORS
from compiler.graph.operators.parts import Concat
from compiler.graph.operators.reductions import AveragePool, MaxPool, Softmax
from compiler.ir.dtypes import FLOAT16, FLOAT32, INT32

_PER_CHANNEL: Final = 13
"""The opset from which on a softmax is along one axis, and not over all from that one on."""


def _real(node: Node, position: int) -> Value:
    """The real numbers of three operands: integers, their scale, and their zero point or none."""
    return _reals(node, node.input(position), position + 1)


def _reals(node: Node, data: Value, position: int) -> Value:
    """The real numbers of integers, by the scale at `position` and the zero point behind it."""
    scale, zero = node.input(position), node.optional(position + 1)
    return dequantised(node, data, _one(node, scale), zero and _one(node, zero), 0)


def _result(node: Node, real: Value, position: int) -> Value:
    """Real numbers by the scale at `position` and the zero point behind it, as the first operand's
    integers."""
    return _rounded(node, real, node.input(position), node.optional(position + 1))


def _rounded(node: Node, real: Value, scale: Value, zero: Value | None) -> Value:
    to = node.input(0).dtype if zero is None else zero.dtype
    return quantised(node, real, _one(node, scale), zero and _one(node, zero), 0, to)


def _one(node: Node, value: Value) -> Value:
    """A scale or zero point, of which there may be only one."""
    if value.type.size != 1:
        node.unsupported(f"a scale or zero point {value.type} in place of one number")
    return node.reshape(value, ())


def _binary(operator: str) -> Convert:
    def convert(node: Node) -> Value:
        return _result(node, node.call(operator, _real(node, 0), _real(node, 3)), 6)

    return convert


def _sigmoid(node: Node) -> Value:
    return _result(node, node.call("sigmoid", _real(node, 0)), 3)


def _leaky_relu(node: Node) -> Value:
    to = OPERATORS["leaky_relu"].attributes(node.real("alpha"))
    return _result(node, node.call("leaky_relu", _real(node, 0), to=to), 3)


def _global_average(node: Node) -> Value:
    data = _reals(node, channels_first(node, node.input(0)), 1)
    mean = node.call("global_average_pool", data)
    return channels_as_given(node, _result(node, mean, 3))


def _average(node: Node) -> Value:
    data = _reals(node, channels_first(node, node.input(0)), 1)
    kernel, strides, padding, dilation = window_of(node, data)
    up, counted = bool(node.integer("ceil_mode")), bool(node.integer("count_include_pad"))
    if up and counted:
        # The standard leaves out what a last window covers beyond the padding.
        padding, up = _whole_windows(node, data, kernel, strides, padding), False
    to = AveragePool(kernel, strides, padding, dilation, up, counted)
    return channels_as_given(node, _result(node, node.call("average_pool", data, to=to), 3))


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


def _concat(node: Node) -> Value:
    """The result's scale and zero point come first, then each operand with its own."""
    scale, zero = node.input(0), node.input(1)
    if node.operands < 5 or node.operands % 3 != 2:
        node.refuse(f"{node.operands} operands: a scale and a zero point, then three for each part")
    parts = range(2, node.operands, 3)
    for at in parts:
        kinds = [node.input(at).dtype, node.input(at + 1).dtype, node.input(at + 2).dtype]
        if kinds != [zero.dtype, FLOAT32, zero.dtype]:
            node.refuse(
                f"part {at // 3} is {kinds[0]}, with a scale {kinds[1]} and a zero point "
                f"{kinds[2]}, of a result {zero.dtype}"
            )
    real = [_real(node, at) for at in parts]
    joined = node.call("concat", *real, to=Concat(node.integer("axis")))
    return _rounded(node, joined, scale, zero)


def _softmax(node: Node) -> Value:
    data, shape = _real(node, 0), node.input(0).shape
    (axis,) = node.axes([node.integer("axis")], data)
    axis %= data.rank
    if node.integer("opset") < _PER_CHANNEL:
        data = node.reshape(data, (*shape[:axis], -1))
    found = node.reshape(node.call("softmax", data, to=Softmax(axis)), shape)
    one = node.number(1, found)
    step = node.call("divide", one, _one(node, node.input(3)))
    return _rounded(node, found, node.call("divide", one, node.call("floor", step)), node.input(4))


def _where(node: Node) -> Value:
    chosen = node.call("where", node.input(0), _real(node, 1), _real(node, 4))
    return _rounded(node, chosen, node.input(7), node.input(8))


def _gemm(node: Node) -> Value:
    """Integers, or real numbers without a scale of the result. `b` may have a scale by column."""
    a, b, bias = _real(node, 0), node.input(3), node.optional(6)
    if a.rank != 2 or b.rank != 2:
        node.refuse(f"{a.type} and {b.type} are no matrices")
    given, scale = gemm_attributes(node), node.input(4)
    if given.alpha != 1:
        # The bias is in units of the products, alpha included.
        scale = node.call("multiply", scale, node.number(given.alpha, scale))
    weights = dequantised(node, b, scale, node.input(5), 0 if given.trans_b else 1)
    if bias is not None:
        unit = node.call("multiply", scale, _one(node, node.input(1)))
        bias = node.call("multiply", node.cast(bias, FLOAT32), unit)
    found = gemm(node, a, weights, bias, replace(given, alpha=1.0))
    if node.optional(7) is None:
        return found
    return _rounded(node, found, node.input(7), node.optional(8))


_PAIR: Final = (
    "A: T, A_scale: float32, A_zero_point: T?, B: T, B_scale: float32, B_zero_point: T?, "
    "C_scale: float32, C_zero_point: T?"
)
_ONE: Final = "X: T, X_scale: float32, X_zero_point: T?, Y_scale: float32, Y_zero_point: T?"
_BYTES: Final = MappingProxyType({"T": BYTES})
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
        "DequantizeLinear": (
            dequantize,
            define(
                "x: T1, x_scale: T2, x_zero_point: T1?",
                "y: T2",
                {"T1": (*NARROW, INT32), "T2": (FLOAT32, FLOAT16)},
                axis=1,
            ),
        ),
        "NhwcMaxPool": (
            _max_pool,
            define("x: T", "y: T", _BYTES, ceil_mode=0, dilations=Kind.INTS, **_WINDOWS),
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
        "QLinearAdd": (_binary("add"), define(_PAIR, "C: T", _BYTES)),
        "QLinearAveragePool": (
            _average,
            define(
                _ONE, "Y: T", _BYTES, ceil_mode=0, channels_last=0, count_include_pad=0, **_WINDOWS
            ),
        ),
        "QLinearConcat": (
            _concat,
            define(
                "Y_scale: float32, Y_zero_point: T, inputs: V*",
                "Y: T",
                {"T": BYTES, "V": (*BYTES, FLOAT32)},
                axis=Kind.INT,
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
            define(_ONE.replace("?", ""), "Y: T", _BYTES, channels_last=0),
        ),
        "QLinearLeakyRelu": (_leaky_relu, define(_ONE, "Y: T", _BYTES, alpha=0.01)),
        "QLinearMul": (_binary("multiply"), define(_PAIR, "C: T", _BYTES)),
        "QLinearSigmoid": (_sigmoid, define(_ONE, "Y: T", _BYTES)),
        "QLinearSoftmax": (
            _softmax,
            define(
                "X: T, X_scale: float32, x_zero_point: T?, y_scale: float32, y_zero_point: T",
                "Y: T",
                _BYTES,
                axis=-1,
                opset=Kind.INT,
            ),
        ),
        "QLinearWhere": (
            _where,
            define(
                "condition: bool, X: T, x_scale: float32, x_zero_point: T, Y: T, "
                "y_scale: float32, y_zero_point: T, z_scale: float32, z_zero_point: T",
                "Z: T",
                _BYTES,
            ),
        ),
        "QuantizeLinear": (
            quantize,
            define(
                "x: T1, y_scale: T1, y_zero_point: T2?",
                "y: T2",
                {"T1": (FLOAT32, FLOAT16), "T2": NARROW},
                axis=1,
            ),
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
    Converter(f"{DOMAIN}.{name}", (1,), convert, _LIMITS.get(name, ""), definition=definition)
    for name, (convert, definition) in _DEFINITIONS.items()
)
