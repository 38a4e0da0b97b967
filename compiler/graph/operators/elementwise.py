"""Graph operators made from the table of element-wise operators (`compiler.operators`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from inspect import Parameter, signature
from types import MappingProxyType
from typing import get_type_hints

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.operators.gradients.elementwise import RULES
from tandem.compiler.graph.operators.symbolic import broadcast
from tandem.compiler.graph.opspec import AnyOp, Operands, OpPattern, TypeQuery, define_operator
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import DType
from tandem.compiler.operators.broadcast import Elementwise
from tandem.compiler.operators.elementwise import ELEMENTWISE


@dataclass(frozen=True, slots=True)
class Modulo(Attributes):
    """Attributes of `modulo`: the sign is the dividend's if `fmod` is 1, else the divisor's."""

    fmod: int = 0


@dataclass(frozen=True, slots=True)
class Clip(Attributes):
    """Attributes of `clip`: bounds, or None; bounds of an integer tensor are values of its type."""

    min: float | int | None = None
    max: float | int | None = None


@dataclass(frozen=True, slots=True)
class Cast(Attributes):
    """Attributes of `cast` and `bit_cast`: `to` is the element type of the result."""

    to: DType


_DECLARED_CLASSES: Mapping[str, type[Attributes]] = MappingProxyType(
    {"bit_cast": Cast, "cast": Cast, "clip": Clip, "modulo": Modulo}
)
"""Attribute classes that other modules import; `_attributes_class` generates all other classes."""


def _attributes_class(operator: Elementwise) -> type[Attributes]:
    """The class of an operator's attributes: a field for each keyword of the scalar function."""
    keywords = [
        parameter
        for parameter in signature(operator.scalar).parameters.values()
        if parameter.kind is Parameter.KEYWORD_ONLY
    ]
    if operator.name in _DECLARED_CLASSES or not keywords:
        return _DECLARED_CLASSES.get(operator.name, Attributes)
    hints = get_type_hints(operator.scalar)
    fields = [
        (
            parameter.name,
            hints[parameter.name],
            *([] if parameter.default is parameter.empty else [parameter.default]),
        )
        for parameter in keywords
    ]
    name = operator.name.title().replace("_", "")
    return make_dataclass(name, fields, bases=(Attributes,), frozen=True, slots=True)


def _operands(operator: Elementwise) -> Operands:
    """The operands: the scalar function's positional parameters; a sole parameter is named `x`."""
    positional = [
        parameter
        for parameter in signature(operator.scalar).parameters.values()
        if parameter.kind is not Parameter.KEYWORD_ONLY
    ]
    if len(positional) == 1:
        return Operands(("x",), variadic=positional[0].kind is Parameter.VAR_POSITIONAL)
    return Operands(tuple(each.name for each in positional))


def _spec(operator: Elementwise) -> AnyOp:
    operands = _operands(operator)
    pattern = OpPattern.ELEMENTWISE if operands == Operands(("x",)) else OpPattern.BROADCAST

    def type_rule(query: TypeQuery, attributes: Attributes) -> tuple[TensorType, ...]:
        shape = broadcast(query, [each.shape for each in query.types])
        if operator.keeps_shape and shape != query.data.shape:
            query.fail(f"{query.show_all()} do not broadcast to {query.show(0)}")
        (scalar_type,) = query.infer([()] * len(query.types))
        return (TensorType(shape, scalar_type.dtype),)

    attributes_class = _attributes_class(operator)
    return define_operator(
        operator,
        pattern,
        operands,
        attributes_class,
        type_rule,
        name=operator.name,
        gradient=RULES.get(operator.name),
    )


SPECS: tuple[AnyOp, ...] = tuple(_spec(each) for each in ELEMENTWISE.values())
