"""Live ranges of the tensors of a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final, TypeAlias, assert_never

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.memory import LiveRange
from tandem.compiler.graph.nodes import (
    Apply,
    Atom,
    Body,
    Call,
    Construct,
    Fun,
    Function,
    Gradient,
    If,
    Let,
    Match,
    Partial,
    Tuple,
    TupleGet,
    Var,
)
from tandem.compiler.graph.types import Nested, TensorType, Type, leaves, part_names, tensors_of
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import atoms

MEMORY_OF_FUNCTIONS: Final = "the pass defunctionalise has to run before memory is planned"

_Names: TypeAlias = Nested[str | None]
"""The names of a value's tensors; None for parameters and constants."""


def live_ranges(function: Function) -> tuple[LiveRange, ...]:
    """The live ranges of the tensors that calls and `if` compute, in the order of the text.

    A tensor has the name of its value; the tensors of a tuple are `name.0`, `name.1` and so on, or
    have the name of the value that is this item. A `Tuple` node aliases its items and has no
    tensors. Times are lines of the text: a tensor is live from the line that computes it to the
    last line that reads it; the result of an `if` during the whole `if`; the function's result to
    the end. Parameters and constants are omitted.

    Raises
    ------
    GraphError
        The function is not legal, has functions that are values, or an extent is symbolic.
    """
    return _Liveness(verify(function)).of(function.body)


def bytes_of(type_: TensorType, name: str) -> int:
    """The bytes of a tensor, which errors call `name`; an element takes whole bytes, a bool one."""
    stored = type_.stored
    return prod(stored.static_shape(name)) * -(-stored.dtype.bits // 8)


class _Liveness:
    def __init__(self, types: Mapping[str, Type]) -> None:
        self._types = types
        self._names: dict[str, _Names] = {}
        self._items: dict[tuple[str, int], str] = {}
        """Names of items of tuples, by the tuple's name and the item's number."""
        self._sizes: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._line = 0

    def of(self, body: Body) -> tuple[LiveRange, ...]:
        """The live ranges in a function's body."""
        self._body(body)
        return tuple(
            LiveRange(name, size, self._first[name], self._last[name])
            for name, size in self._sizes.items()
        )

    def _body(self, body: Body) -> None:
        for let in reversed(body.lets):
            if isinstance(let.value, TupleGet) and isinstance(self._types[let.name], TensorType):
                self._items[let.value.operand.name, let.value.index] = let.name
        for let in body.lets:
            self._line += 1
            self._use(atoms(let.value))
            self._let(let)
        self._line += 1
        self._use([body.result])

    def _use(self, used: Sequence[Atom]) -> None:
        for atom in used:
            for name in leaves(self._tensors(atom)):
                if name is not None:
                    self._last[name] = self._line

    def _tensors(self, atom: Atom) -> _Names:
        return None if isinstance(atom, Constant) else self._names.get(atom.name)

    def _let(self, let: Let) -> None:
        value = let.value
        match value:
            case Call():
                self._define(let)
            case If(then=then, otherwise=otherwise):
                self._define(let)
                self._body(then)
                self._body(otherwise)
                self._use([Var(let.name)])
            case Tuple(items=items):
                self._names[let.name] = tuple(self._tensors(each) for each in items)
            case TupleGet(operand=operand, index=index):
                whole = self._tensors(operand)
                self._names[let.name] = whole[index] if isinstance(whole, tuple) else None
            case Partial() | Gradient() | Fun() | Apply():
                raise GraphError(f"{let.name} is a function, or calls one: {MEMORY_OF_FUNCTIONS}")
            case Construct() | Match():
                raise GraphError(f"{let.name} is of a data type, or matches one: it has no memory")
            case _:
                assert_never(value)

    def _define(self, let: Let) -> None:
        type_ = self._types[let.name]
        names = part_names(let.name, type_)
        if isinstance(names, tuple):
            names = tuple(self._items.get((let.name, at), part) for at, part in enumerate(names))
        self._names[let.name] = names
        for name, tensor in zip(leaves(names), tensors_of(type_), strict=True):
            self._sizes[name] = bytes_of(tensor, name)
            self._first[name] = self._last[name] = self._line
