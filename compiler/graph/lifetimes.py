"""From when to when the values of a function have to be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TypeAlias, assert_never

from compiler.graph.constant import Constant
from compiler.graph.memory import Tenant
from compiler.graph.nodes import Atom, Body, Call, Function, If, Let, Tuple, TupleGet, Var
from compiler.graph.types import Nested, Type, leaves, part_names, tensors_of
from compiler.graph.verify import verify
from compiler.graph.visit import atoms

__all__ = ["lifetimes"]

_Places: TypeAlias = Nested[str | None]
"""The tensors behind a value, by name; None are those of parameters and constants."""


def lifetimes(function: Function) -> tuple[Tenant, ...]:
    """The tensors that calls and decisions make, in the order of the text.

    A value that is a tensor is called as it is; of several ones the parts are `name.0`, `name.1`,
    and so on. Tuples are only names for what is in them. Moments are lines of the text: a tensor
    lives from the line that makes it to the last one that reads it, the whole of an `if` for what
    that gives, and to the end for what the function gives. What is given to the function is not
    told, nor are constants.

    Raises
    ------
    GraphError
        The function is not legal, or an extent is symbolic.
    """
    return _Lifetimes(verify(function)).found(function.body)


class _Lifetimes:
    def __init__(self, types: Mapping[str, Type]) -> None:
        self._types = types
        self._places: dict[str, _Places] = {}
        self._sizes: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._line = 0

    def found(self, body: Body) -> tuple[Tenant, ...]:
        """The tensors of a function's body."""
        self._body(body)
        return tuple(
            Tenant(name, size, self._first[name], self._last[name])
            for name, size in self._sizes.items()
        )

    def _body(self, body: Body) -> None:
        for let in body.lets:
            self._line += 1
            self._use(atoms(let.value))
            self._let(let)
        self._line += 1
        self._use([body.result])

    def _use(self, used: Sequence[Atom]) -> None:
        for atom in used:
            for name in leaves(self._of(atom)):
                if name is not None:
                    self._last[name] = self._line

    def _of(self, atom: Atom) -> _Places:
        return None if isinstance(atom, Constant) else self._places.get(atom.name)

    def _let(self, let: Let) -> None:
        value = let.value
        match value:
            case Call():
                self._new(let)
            case If(then=then, otherwise=otherwise):
                self._new(let)
                for each in (then, otherwise):
                    self._body(each)
                self._use([Var(let.name)])
            case Tuple(items=items):
                self._places[let.name] = tuple(self._of(each) for each in items)
            case TupleGet(operand=operand, index=index):
                whole = self._of(operand)
                self._places[let.name] = whole[index] if isinstance(whole, tuple) else None
            case _:
                assert_never(value)

    def _new(self, let: Let) -> None:
        type_ = self._types[let.name]
        self._places[let.name] = names = part_names(let.name, type_)
        for name, tensor in zip(leaves(names), tensors_of(type_), strict=True):
            # Whole bytes for each element: one for a bool.
            self._sizes[name] = prod(tensor.static_shape(name)) * -(-tensor.dtype.bits // 8)
            self._first[name] = self._last[name] = self._line
