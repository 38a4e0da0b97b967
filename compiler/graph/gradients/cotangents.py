"""Gradients of values: of a tensor a term, of a value of a data type one of the type of its
gradients, of a tuple one for each item, or none where nothing depends on the value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tandem.compiler.graph.gradients.data_gradients import gradient_types
from tandem.compiler.graph.terms import Term
from tandem.compiler.graph.types import DataType, TupleType, Type


@dataclass(frozen=True, slots=True, eq=False)
class DataTerm:
    """A value of a data type: its name, its type, and what adds gradients of that type.

    Attributes
    ----------
    add
        Writes the sum of two such values where the first is read.
    """

    value: str
    type: DataType
    add: Callable[[DataTerm, DataTerm], DataTerm]

    def __add__(self, other: DataTerm) -> DataTerm:
        return self.add(self, other)


Leaf: TypeAlias = Term | DataTerm
"""The gradient of a tensor, or of a value of a data type."""
Cotangent: TypeAlias = Leaf | tuple["Cotangent", ...] | None
"""The gradient of a value; None is zero."""


def added(one: Cotangent, other: Cotangent) -> Cotangent:
    """The sum of two gradients of a value."""
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, tuple) and isinstance(other, tuple):
        return tuple(added(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, DataTerm) and isinstance(other, DataTerm):
        return one + other
    assert isinstance(one, Term), "of one value"
    assert isinstance(other, Term), "of one value"
    return one + other


def is_zero(gradient: Cotangent) -> bool:
    """Whether nothing depends on the value."""
    if isinstance(gradient, tuple):
        return all(map(is_zero, gradient))
    return gradient is None


def mapped(gradient: Cotangent, change: Callable[[Leaf], Leaf]) -> Cotangent:
    """The gradient with changed leaves."""
    if isinstance(gradient, tuple):
        return tuple(mapped(each, change) for each in gradient)
    return None if gradient is None else change(gradient)


def flat(gradient: Cotangent, type_: Type) -> list[Leaf | None]:
    """The gradients of what a value has, in the order of `gradient_types`."""
    if isinstance(type_, TupleType):
        items = gradient if isinstance(gradient, tuple) else (None,) * len(type_.items)
        pairs = zip(items, type_.items, strict=True)
        return [found for item, own in pairs for found in flat(item, own)]
    assert not isinstance(gradient, tuple), "of a tensor"
    return [gradient] if gradient_types(type_) else []


def nested(terms: Sequence[Leaf | None], type_: Type) -> Cotangent:
    """The gradient of a value that has these gradients, in the order of `gradient_types`."""
    found, rest = _nested(iter(terms), type_), len(terms) - len(gradient_types(type_))
    assert rest == 0, "one for each float"
    return found


def _nested(terms: Iterator[Leaf | None], type_: Type) -> Cotangent:
    if isinstance(type_, TupleType):
        return tuple(_nested(terms, each) for each in type_.items)
    return next(terms) if gradient_types(type_) else None
