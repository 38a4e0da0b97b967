"""Removes changes of layout that cancel out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from compiler.graph.opspec import OpSpec
from compiler.graph.types import Type
from compiler.graph.verify import verify
from compiler.graph.visit import map_atoms

__all__ = ["CancelLayouts"]

_SHAPES = frozenset({"reshape", "flatten", "squeeze", "unsqueeze"})
"""Operators that keep the order of elements."""


@dataclass(frozen=True, slots=True)
class CancelLayouts:
    """Removes changes of layout that cancel out; values that become dead are left for later passes.

    ::

        y = unpack_data(y_blocks)
        z_blocks = pack_data(y)       ->     z_blocks = y_blocks
        b = reshape(a), c = flatten(b)       c = a, if a has that type

    Blocks that are unpacked and packed again are padded with zeros; blocks that stay in the
    accelerator are padded with arbitrary values. No operator of the accelerator mixes the elements
    of a block, except products, whose weights are zero in the padding.
    """

    name: str = "cancel-layouts"

    def apply(self, function: Function) -> Function:
        """The function with fewer changes of layout."""
        types = verify(function)
        return replace(function, body=_Canceller(function.body, types).body())


class _Canceller:
    def __init__(self, body: Body, types: Mapping[str, Type]) -> None:
        self._body = body
        self._types = types
        self._made = {let.name: let for let in body.lets}
        self._same: dict[str, Atom] = {}
        """Values that equal an earlier one."""

    def body(self) -> Body:
        lets = []
        for let in self._body.lets:
            changed = replace(let, value=map_atoms(let.value, self._known))
            self._made[let.name] = changed
            same = self._source(changed)
            if same is not None:
                self._same[let.name] = same
            lets.append(changed)
        return Body(tuple(lets), self._known(self._body.result))

    def _known(self, atom: Atom) -> Atom:
        return self._same.get(atom.name, atom) if isinstance(atom, Var) else atom

    def _source(self, let: Let) -> Atom | None:
        """An earlier value that this one equals."""
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
    """The operator and operand of a call with one operand that is a variable."""
    match let.value:
        case Call(callee=OpSpec(name=name), args=(Var() as operand,)):
            return name, operand
        case _:
            return "", None
