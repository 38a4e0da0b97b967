"""Operators on elements, of tensors that broadcast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from inspect import Parameter, signature
from types import MappingProxyType
from typing import get_type_hints

from compiler.graph.attributes import Attributes
from compiler.graph.operators.symbolic import broadcast
from compiler.graph.opspec import AnyOp, Ask, Operands, Pattern, computed_by
from compiler.graph.types import TensorType
from compiler.ir.dtypes import DType
from compiler.operators.broadcast import Elementwise
from compiler.operators.elementwise import ELEMENTWISE

__all__ = ["SPECS", "Cast", "Clip", "Modulo"]


@dataclass(frozen=True, slots=True)
class Modulo(Attributes):
    """fmod 1: with the sign of the dividend."""

    fmod: int = 0


@dataclass(frozen=True, slots=True)
class Clip(Attributes):
    """Limits; none where there is none. Of integers only whole ones, of their type."""

    min: float | int | None = None
    max: float | int | None = None


@dataclass(frozen=True, slots=True)
class Cast(Attributes):
    """The type of the result."""

    to: DType


_ATTRIBUTES: Mapping[str, type[Attributes]] = MappingProxyType(
    {"Cast": Cast, "Clip": Clip, "Mod": Modulo}
)
"""Those that other modules name, by ONNX's name of the operator."""

_TWO = (
    *("Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal"),
    *("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "Mul", "Or", "Pow", "Sub", "Xor"),
)
_OPERANDS: Mapping[str, Operands] = MappingProxyType(
    {
        **{name: Operands(("a", "b")) for name in _TWO},
        **{name: Operands(("x",), variadic=True) for name in ("Max", "Mean", "Min", "Sum")},
        "PRelu": Operands(("x", "slope")),
        "Where": Operands(("condition", "a", "b")),
    }
)
"""By ONNX's name; the others take one."""


def _attributes(onnx: str, operator: Elementwise) -> type[Attributes]:
    """The keywords of the operator's function, with their types and defaults."""
    keywords = [
        each
        for each in signature(operator.scalar).parameters.values()
        if each.kind is Parameter.KEYWORD_ONLY
    ]
    if onnx in _ATTRIBUTES or not keywords:
        return _ATTRIBUTES.get(onnx, Attributes)
    hints = get_type_hints(operator.scalar)
    described = [
        (each.name, hints[each.name], *([] if each.default is each.empty else [each.default]))
        for each in keywords
    ]
    return make_dataclass(onnx, described, bases=(Attributes,), frozen=True, slots=True)


def _spec(onnx: str, operator: Elementwise) -> AnyOp:
    operands = _OPERANDS.get(onnx, Operands(("x",)))
    pattern = Pattern.ELEMENTWISE if operands == Operands(("x",)) else Pattern.BROADCAST

    def symbolic(ask: Ask, attributes: Attributes) -> tuple[TensorType, ...]:
        shape = broadcast(ask, [each.shape for each in ask.types])
        if operator.keeps_shape and shape != ask.data.shape:
            ask.fail(f"{ask.show_all()} do not broadcast to {ask.show(0)}")
        (of_scalars,) = ask.answer([()] * len(ask.types))
        return (TensorType(shape, of_scalars.dtype),)

    attributes = _attributes(onnx, operator)
    return computed_by(operator, pattern, operands, attributes, symbolic, name=operator.name)


SPECS: tuple[AnyOp, ...] = tuple(_spec(onnx, each) for onnx, each in ELEMENTWISE.items())
"""All of `compiler.operators.elementwise`, by the names of their functions."""
