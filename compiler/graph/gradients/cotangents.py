"""Gradients of values: of a tensor a term, of a tuple one for each item, or none where nothing
depends on the value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from tandem.compiler.graph.gradient_query import gradient_type
from tandem.compiler.graph.terms import Term
from tandem.compiler.graph.types import TensorType, TupleType, Type

Cotangent: TypeAlias = Term | tuple["Cotangent", ...] | None
"""The gradient of a value; None is zero."""


def added(one: Cotangent, other: Cotangent) -> Cotangent:
    """The sum of two gradients of a value."""
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, tuple) and isinstance(other, tuple):
        return tuple(added(a, b) for a, b in zip(one, other, strict=True))
    assert isinstance(one, Term), "of one value"
    assert isinstance(other, Term), "of one value"
    return one + other


def is_zero(gradient: Cotangent) -> bool:
    """Whether nothing depends on the value."""
    if isinstance(gradient, tuple):
        return all(map(is_zero, gradient))
    return gradient is None


def mapped(gradient: Cotangent, change: Callable[[Term], Term]) -> Cotangent:
    """The gradient with changed terms."""
    if isinstance(gradient, tuple):
        return tuple(mapped(each, change) for each in gradient)
    return None if gradient is None else change(gradient)


def gradient_types(type_: Type) -> tuple[TensorType, ...]:
    """The types of the gradients of a value's floats, in order."""
    if isinstance(type_, TupleType):
        return tuple(found for each in type_.items for found in gradient_types(each))
    found = gradient_type(type_) if isinstance(type_, TensorType) else None
    return () if found is None else (found,)


def flat(gradient: Cotangent, type_: Type) -> list[Term | None]:
    """The gradients of a value's floats, in order."""
    if isinstance(type_, TupleType):
        items = gradient if isinstance(gradient, tuple) else (None,) * len(type_.items)
        pairs = zip(items, type_.items, strict=True)
        return [found for item, own in pairs for found in flat(item, own)]
    assert not isinstance(gradient, tuple), "of a tensor"
    return [gradient] if gradient_types(type_) else []


def nested(terms: Sequence[Term | None], type_: Type) -> Cotangent:
    """The gradient of a value whose floats have these gradients, in order."""
    found, rest = _nested(iter(terms), type_), len(terms) - len(gradient_types(type_))
    assert rest == 0, "one for each float"
    return found


def _nested(terms: Iterator[Term | None], type_: Type) -> Cotangent:
    if isinstance(type_, TupleType):
        return tuple(_nested(terms, each) for each in type_.items)
    return next(terms) if gradient_types(type_) else None
