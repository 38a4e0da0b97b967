"""Graph pass that removes pairs of layout changes that cancel out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from compiler.graph.infer import infer
from compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from compiler.graph.opspec import OpSpec
from compiler.graph.types import Type
from compiler.graph.verify import verify
from compiler.graph.visit import map_atoms, map_bodies, map_functions

_SHAPES = frozenset({"reshape", "flatten", "squeeze", "unsqueeze"})
"""Operators that change a tensor's shape only, not the order of elements."""


@dataclass(frozen=True, slots=True)
class CancelLayouts:
    """Removes layout changes that cancel out; dead values are left for `EliminateDead`.

    ::

        y = unpack_data(y_blocks)
        z_blocks = pack_data(y)       ->     z_blocks = y_blocks
        b = reshape(a), c = flatten(b)       c = a, if a has that type

    Unpacking and packing again would reset the padding of blocks to zero; without, the padding has
    arbitrary values. That is safe: of the accelerator's operators only products mix the elements of
    a block, and their weights are zero in the padding.
    """

    name: str = "cancel-layouts"

    def apply(self, function: Function) -> Function:
        """The function with fewer changes of layout."""
        verify(function)
        return map_functions(
            function, lambda one: replace(one, body=_Canceller(infer(one)).body(one.body))
        )


class _Canceller:
    def __init__(self, types: Mapping[str, Type]) -> None:
        self._types = types
        self._made: dict[str, Let] = {}
        self._same: dict[str, Atom] = {}
        """By the name of a redundant value, the earlier value that equals it."""

    def body(self, body: Body) -> Body:
        """The body, in the scope of the values seen before."""
        lets = []
        for let in body.lets:
            value = map_bodies(map_atoms(let.value, self._known), self.body)
            changed = replace(let, value=value)
            self._made[let.name] = changed
            same = self._source(changed)
            if same is not None:
                self._same[let.name] = same
            lets.append(changed)
        return Body(tuple(lets), self._known(body.result))

    def _known(self, atom: Atom) -> Atom:
        return self._same.get(atom.name, atom) if isinstance(atom, Var) else atom

    def _source(self, let: Let) -> Atom | None:
        """An earlier value that equals the value of `let`; None if there is none."""
        operator, operand = _unary(let)
        if operator == "pack_data" and operand is not None:
            before, blocks = self._maker(operand)
            if before == "unpack_data" and blocks is not None and self._alike(let, blocks):
                return blocks
        while operator in _SHAPES and operand is not None:
            if self._alike(let, operand):
                return operand
            operator, operand = self._maker(operand)
        return None

    def _maker(self, var: Var) -> tuple[str, Var | None]:
        let = self._made.get(var.name)
        return ("", None) if let is None else _unary(let)

    def _alike(self, let: Let, other: Var) -> bool:
        return self._types[let.name] == self._types[other.name]


def _unary(let: Let) -> tuple[str, Var | None]:
    """The operator and operand of a unary call on a variable; else ("", None)."""
    match let.value:
        case Call(callee=OpSpec(name=name), args=(Var() as operand,)):
            return name, operand
        case _:
            return "", None
