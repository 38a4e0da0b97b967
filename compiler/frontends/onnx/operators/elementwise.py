"""Operators on elements."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from compiler.frontends.onnx.converter import Converter, direct
from compiler.frontends.onnx.node import Node
from compiler.frontends.onnx.values import Value
from compiler.graph.operators.elementwise import Clip
from compiler.operators.elementwise import ELEMENTWISE

__all__ = ["CONVERTERS"]

_PLAIN: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "Abs": (6, 13),
        "Acos": (7, 22),
        "Acosh": (9, 22),
        "Add": (7, 13, 14),
        "And": (7,),
        "Asin": (7, 22),
        "Asinh": (9, 22),
        "Atan": (7, 22),
        "Atanh": (9, 22),
        "BitShift": (11, 28),
        "BitwiseAnd": (18,),
        "BitwiseNot": (18,),
        "BitwiseOr": (18,),
        "BitwiseXor": (18,),
        "Ceil": (6, 13),
        "Celu": (12, 28),
        "Cos": (7, 22),
        "Cosh": (9, 22),
        "Div": (7, 13, 14),
        "Elu": (6, 22),
        "Equal": (7, 11, 13, 19),
        "Erf": (9, 13),
        "Exp": (6, 13),
        "Floor": (6, 13),
        "Gelu": (20,),
        "Greater": (9, 13),
        "GreaterOrEqual": (12, 16),
        "HardSigmoid": (6, 22),
        "HardSwish": (14, 22),
        "IsInf": (10, 20),
        "IsNaN": (9, 13, 20),
        "LeakyRelu": (6, 16),
        "Less": (9, 13),
        "LessOrEqual": (12, 16),
        "Log": (6, 13),
        "Max": (8, 12, 13),
        "Mean": (8, 13),
        "Min": (8, 12, 13),
        "Mish": (18, 22),
        "Mod": (10, 13, 28),
        "Mul": (7, 13, 14),
        "Neg": (6, 13),
        "Not": (1,),
        "Or": (7,),
        "PRelu": (9, 16),
        "Pow": (7, 12, 13, 15),
        "Reciprocal": (6, 13),
        "Relu": (6, 13, 14),
        "Round": (11, 22),
        "Selu": (6, 22),
        "Shrink": (9,),
        "Sigmoid": (6, 13),
        "Sign": (9, 13),
        "Sin": (7, 22),
        "Sinh": (9, 22),
        "Softplus": (1, 22),
        "Softsign": (1, 22),
        "Sqrt": (6, 13),
        "Sub": (7, 13, 14),
        "Sum": (8, 13),
        "Swish": (24,),
        "Tan": (7, 22),
        "Tanh": (6, 13),
        "ThresholdedRelu": (10, 22),
        "Where": (9, 16),
        "Xor": (7,),
    }
)
"""Those whose attributes have the names that ONNX gives them."""

_LIMITS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "BitShift": "unsigned integers",
        "Mod": "of floats float32 with `fmod` 1",
    }
)


def _cast(node: Node) -> Value:
    return node.cast(node.input(0), node.element_type(node.integer("to")))


def _cast_like(node: Node) -> Value:
    return node.cast(node.input(0), node.input(1).dtype)


def _clip(node: Node) -> Value:
    data = node.input(0)
    if node.has("min"):
        # Up to opset 10 limits are attributes, which are there by default: the largest floats.
        return node.call("clip", data, to=Clip(node.real("min"), node.real("max")))
    low, high = node.optional(1), node.optional(2)
    if all(each is None or each.known is not None for each in (low, high)):
        return node.call("clip", data, to=Clip(node.scalar(1), node.scalar(2)))
    if low is not None:
        data = node.call("maximum", data, low)
    return data if high is None else node.call("minimum", data, high)


def _same(node: Node) -> Value:
    return node.input(0)


def _dropout(node: Node) -> Value:
    node.only_first()
    if node.optional(2) is not None and node.scalar(2):
        node.unsupported("training")
    return node.input(0)


CONVERTERS: tuple[Converter, ...] = (
    *(
        Converter(name, them, direct(ELEMENTWISE[name].name), _LIMITS.get(name, ""))
        for name, them in _PLAIN.items()
    ),
    Converter("Cast", (9, 13, 19, 21, 23, 24, 25, 28), _cast),
    Converter("CastLike", (15, 19, 21, 23, 24, 25), _cast_like),
    Converter("Clip", (6, 11, 12, 13), _clip),
    Converter("Dropout", (7, 10, 12, 13, 22), _dropout, "no training, no mask as a result"),
    Converter("Identity", (1, 13, 14, 16, 19, 21, 23, 24, 25), _same, "tensors"),
)
