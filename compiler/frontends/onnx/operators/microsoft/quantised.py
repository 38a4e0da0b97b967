"""ONNX Runtime's operators on integers with scales, in the form of the standard's QDQ models.

`QLinearAdd` becomes the addition between `dequantise` and `quantise`, with the model's own scales,
so that all that takes QDQ models takes these. Real numbers are computed in float32, results are
round(y / scale) + zero point, halves to even, as `QuantizeLinear` says. Results of ONNX Runtime are
the same unless y / scale lies so near a half that float32 decides; there one step is possible:

- `QLinearAdd` and `QLinearMul` of ONNX Runtime round y / scale + zero point, so that halves go the
  other way where the zero point is odd.
- `QLinearSigmoid`, `QLinearLeakyRelu` and `QLinearConcat` look up tables of the same formula.
- `QLinearSoftmax` divides by the step 1 / floor(1 / scale), which is taken here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from tandem.compiler.frontends.onnx.converter import Convert, Converter
from tandem.compiler.frontends.onnx.definitions import BYTES, NARROW, Kind, define
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.domain import own_converter
from tandem.compiler.frontends.onnx.operators.quantised import (
    dequantised,
    dequantize,
    quantised,
    quantize,
)
from tandem.compiler.frontends.onnx.operators.spatial import Order, in_first_order
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.parts import Concat
from tandem.compiler.graph.operators.reductions import Softmax
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32, INT32

_PER_CHANNEL: Final = 13
"""The opset from which on a softmax is along one axis, and not over all from that one on."""


def real(node: Node, position: int) -> Value:
    """The real numbers of three operands: integers, their scale, and their zero point or none."""
    return reals(node, node.input(position), position + 1)


def reals(node: Node, data: Value, position: int) -> Value:
    """The real numbers of integers, by the scale at `position` and the zero point behind it."""
    scale, zero = node.input(position), node.optional(position + 1)
    return dequantised(node, data, one(node, scale), zero and one(node, zero), 0)


def result(node: Node, numbers: Value, position: int) -> Value:
    """Real numbers by the scale at `position` and the zero point behind it, as the first operand's
    integers."""
    return rounded(node, numbers, node.input(position), node.optional(position + 1))


def rounded(node: Node, numbers: Value, scale: Value, zero: Value | None) -> Value:
    """Real numbers as integers of the zero point's type, or else of the first operand's."""
    to = node.input(0).dtype if zero is None else zero.dtype
    return quantised(node, numbers, one(node, scale), zero and one(node, zero), 0, to)


def one(node: Node, value: Value) -> Value:
    """A scale or zero point, of which there may be only one."""
    if value.type.size != 1:
        node.unsupported(f"a scale or zero point {value.type} in place of one number")
    return node.reshape(value, ())


def _binary(operator: str) -> Convert:
    def convert(node: Node) -> Value:
        def compute(operands: Sequence[Value], _: Order) -> Value:
            a, b = operands
            return result(node, node.call(operator, reals(node, a, 1), reals(node, b, 4)), 6)

        return in_first_order(node, (node.input(0), node.input(3)), compute)

    return convert


def _unary(operator: str, *attributes: str) -> Convert:
    """The conversion of an activation, whose attributes are these of the node."""

    def convert(node: Node) -> Value:
        to = OPERATORS[operator].attributes(*map(node.real, attributes))

        def compute(operands: Sequence[Value], _: Order) -> Value:
            return result(node, node.call(operator, reals(node, operands[0], 1), to=to), 3)

        return in_first_order(node, (node.input(0),), compute)

    return convert


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
    (axis,) = node.axes([node.integer("axis")], node.input(2))

    def compute(operands: Sequence[Value], order: Order) -> Value:
        numbers = [reals(node, each, at + 1) for at, each in zip(parts, operands, strict=True)]
        joined = node.call("concat", *numbers, to=Concat(order[axis]))
        return rounded(node, joined, scale, zero)

    return in_first_order(node, [node.input(at) for at in parts], compute)


def _softmax(node: Node) -> Value:
    data, shape = real(node, 0), node.input(0).shape
    (axis,) = node.axes([node.integer("axis")], data)
    axis %= data.rank
    if node.integer("opset") < _PER_CHANNEL:
        data = node.reshape(data, (*shape[:axis], -1))
    found = node.reshape(node.call("softmax", data, to=Softmax(axis)), shape)
    unit = node.number(1, found)
    steps = node.call("floor", node.call("divide", unit, one(node, node.input(3))))
    return rounded(node, found, node.call("divide", unit, steps), node.input(4))


def _where(node: Node) -> Value:
    chosen = node.call("where", node.input(0), real(node, 1), real(node, 4))
    return rounded(node, chosen, node.input(7), node.input(8))


_PAIR: Final = (
    "A: T, A_scale: float32, A_zero_point: T?, B: T, B_scale: float32, B_zero_point: T?, "
    "C_scale: float32, C_zero_point: T?"
)
_ONE: Final = "X: T, X_scale: float32, X_zero_point: T?, Y_scale: float32, Y_zero_point: T?"
ONE_TYPE: Final = MappingProxyType({"T": BYTES})
"""The element types of integers, the same for all."""
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
        "QLinearAdd": (_binary("add"), define(_PAIR, "C: T", ONE_TYPE)),
        "QLinearConcat": (
            _concat,
            define(
                "Y_scale: float32, Y_zero_point: T, inputs: V*",
                "Y: T",
                {"T": BYTES, "V": (*BYTES, FLOAT32)},
                axis=Kind.INT,
            ),
        ),
        "QLinearLeakyRelu": (
            _unary("leaky_relu", "alpha"),
            define(_ONE, "Y: T", ONE_TYPE, alpha=0.01),
        ),
        "QLinearMul": (_binary("multiply"), define(_PAIR, "C: T", ONE_TYPE)),
        "QLinearSigmoid": (_unary("sigmoid"), define(_ONE, "Y: T", ONE_TYPE)),
        "QLinearSoftmax": (
            _softmax,
            define(
                "X: T, X_scale: float32, x_zero_point: T?, y_scale: float32, y_zero_point: T",
                "Y: T",
                ONE_TYPE,
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
                ONE_TYPE,
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
CONVERTERS: tuple[Converter, ...] = tuple(
    own_converter(name, convert, definition) for name, (convert, definition) in _DEFINITIONS.items()
)
