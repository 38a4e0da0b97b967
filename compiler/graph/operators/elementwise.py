"""Element-wise operators, on tensors that broadcast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from inspect import Parameter, signature
from types import MappingProxyType
from typing import get_type_hints

from compiler.graph.attributes import Attributes
from compiler.graph.operators.symbolic import broadcast
from compiler.graph.opspec import AnyOp, Operands, Pattern, TypeQuery, computed_by
from compiler.graph.types import TensorType
from compiler.ir.dtypes import DType
from compiler.operators.broadcast import Elementwise
from compiler.operators.elementwise import ELEMENTWISE


@dataclass(frozen=True, slots=True)
class Modulo(Attributes):
    """With `fmod` 1 the result has the sign of the dividend, else that of the divisor."""

    fmod: int = 0


@dataclass(frozen=True, slots=True)
class Clip(Attributes):
    """Limits, or None for none; those of integers are integers of their type."""

    min: float | int | None = None
    max: float | int | None = None


@dataclass(frozen=True, slots=True)
class Cast(Attributes):
    """The type of the result."""

    to: DType


_ATTRIBUTES: Mapping[str, type[Attributes]] = MappingProxyType(
    {"cast": Cast, "clip": Clip, "modulo": Modulo}
)
"""Classes that other modules name. Those of other operators are made of the keywords of their
functions."""


def _attributes(operator: Elementwise) -> type[Attributes]:
    """The keywords of the operator's function as attributes, with their types and defaults."""
    keywords = [
        parameter
        for parameter in signature(operator.scalar).parameters.values()
        if parameter.kind is Parameter.KEYWORD_ONLY
    ]
    if operator.name in _ATTRIBUTES or not keywords:
        return _ATTRIBUTES.get(operator.name, Attributes)
    hints = get_type_hints(operator.scalar)
    described = [
        (
            parameter.name,
            hints[parameter.name],
            *([] if parameter.default is parameter.empty else [parameter.default]),
        )
        for parameter in keywords
    ]
    name = operator.name.title().replace("_", "")
    return make_dataclass(name, described, bases=(Attributes,), frozen=True, slots=True)


def _operands(operator: Elementwise) -> Operands:
    """The positional parameters of the operator's function; a single one is called `x`."""
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
    pattern = Pattern.ELEMENTWISE if operands == Operands(("x",)) else Pattern.BROADCAST

    def symbolic(query: TypeQuery, attributes: Attributes) -> tuple[TensorType, ...]:
        shape = broadcast(query, [each.shape for each in query.types])
        if operator.keeps_shape and shape != query.data.shape:
            query.fail(f"{query.show_all()} do not broadcast to {query.show(0)}")
        (of_scalars,) = query.infer([()] * len(query.types))
        return (TensorType(shape, of_scalars.dtype),)

    kind = _attributes(operator)
    return computed_by(operator, pattern, operands, kind, symbolic, name=operator.name)


SPECS: tuple[AnyOp, ...] = tuple(_spec(each) for each in ELEMENTWISE.values())
