"""Element-wise operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
from onnx import TensorProto

from tandem.compiler.frontends.onnx.converter import Convert, Converter, direct
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.elementwise import Cast, Clip
from tandem.compiler.graph.operators.shapes import Expand
from tandem.compiler.ir.dtypes import BOOL, INT32, DType

ELEMENTWISE: Final[Mapping[str, tuple[str, tuple[int, ...]]]] = MappingProxyType(
    {
        "Abs": ("absolute", (1, 6, 13)),
        "Acos": ("acos", (7, 22)),
        "Acosh": ("acosh", (9, 22)),
        "Add": ("add", (1, 6, 7, 13, 14)),
        "And": (
            "logical_and",
            (
                1,
                7,
            ),
        ),
        "Asin": ("asin", (7, 22)),
        "Asinh": ("asinh", (9, 22)),
        "Atan": ("atan", (7, 22)),
        "Atanh": ("atanh", (9, 22)),
        "BitShift": ("bit_shift", (11, 28)),
        "BitwiseAnd": ("bitwise_and", (18,)),
        "BitwiseNot": ("bitwise_not", (18,)),
        "BitwiseOr": ("bitwise_or", (18,)),
        "BitwiseXor": ("bitwise_xor", (18,)),
        "Ceil": ("ceil", (1, 6, 13)),
        "Celu": ("celu", (12, 28)),
        "Cos": ("cos", (7, 22)),
        "Cosh": ("cosh", (9, 22)),
        "Div": ("divide", (1, 6, 7, 13, 14)),
        "Elu": ("elu", (1, 6, 22)),
        "Equal": ("equal", (1, 7, 11, 13, 19)),
        "Erf": ("erf", (9, 13)),
        "Exp": ("exp", (1, 6, 13)),
        "Floor": ("floor", (1, 6, 13)),
        "Gelu": ("gelu", (20,)),
        "Greater": ("greater", (1, 7, 9, 13)),
        "GreaterOrEqual": ("greater_or_equal", (12, 16)),
        "HardSigmoid": ("hard_sigmoid", (1, 6, 22)),
        "HardSwish": ("hard_swish", (14, 22)),
        "IsInf": ("is_inf", (10, 20)),
        "IsNaN": ("is_nan", (9, 13, 20)),
        "LeakyRelu": ("leaky_relu", (1, 6, 16)),
        "Less": ("less", (1, 7, 9, 13)),
        "LessOrEqual": ("less_or_equal", (12, 16)),
        "Log": ("log", (1, 6, 13)),
        "Max": ("maximum", (1, 6, 8, 12, 13)),
        "Mean": ("mean", (1, 6, 8, 13)),
        "Min": ("minimum", (1, 6, 8, 12, 13)),
        "Mish": ("mish", (18, 22)),
        "Mod": ("modulo", (10, 13, 28)),
        "Mul": ("multiply", (1, 6, 7, 13, 14)),
        "Neg": ("negative", (1, 6, 13)),
        "Not": ("logical_not", (1,)),
        "Or": (
            "logical_or",
            (
                1,
                7,
            ),
        ),
        "PRelu": ("prelu", (1, 6, 7, 9, 16)),
        "Pow": ("power", (1, 7, 12, 13, 15)),
        "Reciprocal": ("reciprocal", (1, 6, 13)),
        "Relu": ("relu", (1, 6, 13, 14)),
        "Round": ("round_even", (11, 22)),
        "Selu": ("selu", (1, 6, 22)),
        "Shrink": ("shrink", (9,)),
        "Sigmoid": ("sigmoid", (1, 6, 13)),
        "Sign": ("sign", (9, 13)),
        "Sin": ("sin", (7, 22)),
        "Sinh": ("sinh", (9, 22)),
        "Softplus": ("softplus", (1, 22)),
        "Softsign": ("softsign", (1, 22)),
        "Sqrt": ("sqrt", (1, 6, 13)),
        "Sub": ("subtract", (1, 6, 7, 13, 14)),
        "Sum": ("total", (1, 6, 8, 13)),
        "Swish": ("swish", (24,)),
        "Tan": ("tan", (7, 22)),
        "Tanh": ("tanh", (1, 6, 13)),
        "ThresholdedRelu": ("thresholded_relu", (10, 22)),
        "Where": ("where", (9, 16)),
        "Xor": (
            "logical_xor",
            (
                1,
                7,
            ),
        ),
    }
)
"""Operators with the same operands and attributes in the graph: the graph operator's name, and
versions."""

_LIMITS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Mod": "of floats float32",
    }
)


_MANY: Final = 32
"""The maximum number of operands that one operator of the graph gets: a kernel's expression, and
the depth of its nesting, grow with them."""


_UNIDIRECTIONAL: Final = 7
"""The first opset in which operands are broadcast as by NumPy."""


def _elementwise(operator: str) -> Convert:
    """The direct conversion; of many operands, operators that take any number become several, which
    combine the operands in the same order."""
    convert = direct(operator)
    if operator == "mean":

        def convert_mean(node: Node) -> Value | tuple[Value, ...]:
            operands = node.inputs
            if len(operands) <= _MANY:
                return convert(node)
            sums = _combined(node, "total", operands)
            return node.call("divide", sums, node.number(len(operands), sums))

        return convert_mean
    if operator in ("maximum", "minimum", "total"):
        return lambda node: _combined(node, operator, node.inputs)
    if operator == "prelu":
        return _prelu
    return lambda node: _broadcast(node, operator) if node.has("broadcast") else convert(node)


def _broadcast(node: Node, operator: str) -> Value:
    """An operator on two operands, the second of which has a part of the first one's axes, as up to
    opset 6: from `axis` on, or the last ones."""
    a, b = node.input(0), node.input(1)
    if not node.integer("broadcast"):
        if a.shape != b.shape:
            node.refuse(f"{a.type} and {b.type}: the attribute broadcast is 0")
        return node.call(operator, a, b)
    start = node.integer("axis") if "axis" in node.given() else a.rank - b.rank
    start += a.rank if start < 0 else 0
    behind = a.rank - start - b.rank
    if start < 0 or behind < 0:
        node.refuse(f"{b.type} from axis {start} of {a.type}")
    return node.call(operator, a, node.reshape(b, (*b.shape, *(1,) * behind)))


def _prelu(node: Node) -> Value:
    """Up to opset 6 a slope with one axis is one of channels."""
    data, slope = node.input(0), node.input(1)
    if node.version < _UNIDIRECTIONAL and slope.rank == 1 and data.rank > 1:
        slope = node.reshape(slope, (*slope.shape, *(1,) * (data.rank - 2)))
    return node.call("prelu", data, slope)


def _combined(node: Node, operator: str, operands: Sequence[Value]) -> Value:
    """The operands combined by an associative operator."""
    found = node.call(operator, *operands[:_MANY])
    for start in range(_MANY, len(operands), _MANY - 1):
        found = node.call(operator, found, *operands[start : start + _MANY - 1])
    return found


def _cast(node: Node) -> Value:
    if node.version == 1:
        name = node.text("to")
        if name not in TensorProto.DataType.keys():
            node.refuse(f"to is {name!r}")
        return _converted(node, node.element_type(TensorProto.DataType.Value(name)))
    return _converted(node, node.element_type(node.integer("to")))


def _converted(node: Node, to: DType) -> Value:
    """The operand in another type. Of a float, an integer of 2 or 4 bits has the low bits of the
    whole number, where wider integers saturate."""
    data = node.input(0)
    if to.is_narrow and to.is_integer and not data.dtype.is_integer:
        data = node.cast(data, INT32)
    return node.cast(data, to)


def _bit_cast(node: Node) -> Value:
    data, to = node.input(0), node.element_type(node.integer("to"))
    return node.call("bit_cast", data, to=Cast(to))


def _cast_like(node: Node) -> Value:
    return _converted(node, node.input(1).dtype)


def _clip(node: Node) -> Value:
    data = node.input(0)
    if node.has("min"):
        # Up to opset 10 the limits are attributes, by default the largest floats; up to opset 5
        # there is none by default.
        limits = (
            node.real(name) if node.version > 1 or name in node.given() else None
            for name in ("min", "max")
        )
        return node.call("clip", data, to=Clip(*limits))
    low, high = node.optional(1), node.optional(2)
    if all(each is None or each.known is not None for each in (low, high)):
        return node.call("clip", data, to=Clip(node.scalar(1), node.scalar(2)))
    if low is not None:
        data = node.call("maximum", data, low)
    return data if high is None else node.call("minimum", data, high)


def _binarizer(node: Node) -> Value:
    data = node.input(0)
    above = node.call("greater", data, node.number(node.real("threshold"), data))
    return node.cast(above, data.dtype)


def _same(node: Node) -> Value:
    return node.input(0)


def _dropout(node: Node) -> tuple[Value, ...]:
    """The data, and a mask without a false element if it is used."""
    data = node.input(0)
    trains = node.optional(2) is not None and node.scalar(2) and node.scalar(1) != 0
    if trains or not node.integer("is_test", 1):
        node.unsupported("training: its results are random")
    if not node.uses(1):
        return (data,)
    dtype = BOOL if node.version >= 10 else data.dtype
    kept = node.constant(np.ones((), dtype.numpy))
    shape = data.type.static_shape("data")
    return data, node.call("expand", kept, to=Expand(shape))


CONVERTERS: tuple[Converter, ...] = (
    *(
        Converter(name, versions, _elementwise(operator), _LIMITS.get(name, ""))
        for name, (operator, versions) in ELEMENTWISE.items()
    ),
    Converter("Cast", (1, 6, 9, 13, 19, 21, 23, 24, 25, 28), _cast, takes_stored_floats=True),
    Converter("BitCast", (26,), _bit_cast, takes_stored_floats=True),
    Converter("CastLike", (15, 19, 21, 23, 24, 25), _cast_like, takes_stored_floats=True),
    Converter("ai.onnx.ml.Binarizer", (1,), _binarizer),
    Converter("Clip", (1, 6, 11, 12, 13), _clip),
    Converter("Dropout", (1, 6, 7, 10, 12, 13, 22), _dropout, "no training unless the ratio is 0"),
    Converter(
        "Identity", (1, 13, 14, 16, 19, 21, 23, 24, 25), _same, "tensors", takes_stored_floats=True
    ),
)
