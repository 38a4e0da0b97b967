"""Values in the slots of a tuple that stands for one of several functions, or constructors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.data_types import constructors_of
from tandem.compiler.graph.nodes import Atom, Construct, Let, Tuple, TupleGet, Value, Var
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import (
    DataType,
    Part,
    TensorType,
    TupleType,
    Type,
    parts_of,
)


@dataclass
class Lines:
    """A body under construction; `taken` are the names of the whole function."""

    taken: set[str]
    lets: list[Let] = field(default_factory=list)

    def new(self, stem: str, value: Value) -> Var:
        """The name of a new value."""
        name = unique_name(stem, self.taken)
        self.lets.append(Let(name, value))
        return Var(name)

    def inner(self) -> Lines:
        """An empty body within this."""
        return Lines(self.taken)


def parts_in(atom: Atom, type_: Type, lines: Lines) -> Iterator[Atom]:
    """The tensors and the values of data types of a value, in order."""
    if isinstance(type_, TensorType | DataType):
        yield atom
        return
    assert isinstance(atom, Var), "constants are tensors"
    assert isinstance(type_, TupleType), "represented"
    for at, item in enumerate(type_.items):
        if parts_of(item):
            yield from parts_in(lines.new("part", TupleGet(atom, at)), item, lines)


def value_in(whole: Var, slots: Iterator[int], type_: Type, lines: Lines) -> Atom:
    """A value of a type, of the next slots of a tuple of a number and slots."""
    if isinstance(type_, TensorType | DataType):
        return lines.new("part", TupleGet(whole, 1 + next(slots)))
    assert isinstance(type_, TupleType), "represented"
    items = [value_in(whole, slots, each, lines) for each in type_.items]
    return lines.new("parts", Tuple(tuple(items)))


def unread(type_: Part, lines: Lines) -> Atom:
    """A value that nothing reads."""
    if isinstance(type_, DataType):
        assert type_.declared is not None, "of a declared type"
        alone = next((each for each in constructors_of(type_) if not each.fields), None)
        if alone is None:
            raise GraphError(
                f"one of several functions holds {type_}, and another does not: it has to have a "
                "constructor without fields"
            )
        return lines.new("none", Construct(alone.name, type_.declared, (), type_.arguments))
    shape = tuple(each for each in type_.shape if isinstance(each, int))
    if type_.layout is not None or len(shape) != type_.rank:
        raise GraphError(
            f"one of several functions holds {type_}, and another does not: its extents have to "
            "be numbers, and it row-major"
        )
    return Constant(np.zeros(shape, type_.dtype.numpy))
