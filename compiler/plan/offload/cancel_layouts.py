"""Graph pass that removes pairs of layout changes that cancel out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from compiler.graph.infer import infer
from compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from compiler.graph.operators.shapes import Transpose
from compiler.graph.opspec import OpSpec
from compiler.graph.types import TensorType, Type
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

    Between unpacking and packing there may be changes of shape and transpositions that together
    restore the order of elements, as those of attention's heads do.

    Unpacking and packing again would reset the padding of blocks to zero. It is undefined without
    (`compiler.driver.padded_axes`), and that is safe: of the accelerator's operators only products
    mix the elements of a block, and their weights are zero in the padding. Weights that are
    computed when the network runs are packed by `pack_weight`, which stays; where they need no
    packing they have no padding (`compiler.machines.accelerator.templates.matmul`).
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
            blocks = self._blocks_of(operand)
            if blocks is not None and self._alike(let, blocks):
                return blocks
        while operator in _SHAPES and operand is not None:
            if self._alike(let, operand):
                return operand
            operator, operand = self._maker(operand)
        return None

    def _blocks_of(self, plain: Var) -> Var | None:
        """The blocks of which `plain` has the elements in the same order and shape, if there are
        any."""
        at, moves = plain, list[Let]()
        operator, before = self._maker(at)
        while before is not None and (operator in _SHAPES or operator == "transpose"):
            moves.insert(0, self._made[at.name])
            at = before
            operator, before = self._maker(at)
        if operator != "unpack_data" or not self._alike(at, plain):
            return None
        return before if self._restore_order(at, moves) else None

    def _restore_order(self, first: Var, moves: Sequence[Let]) -> bool:
        """Whether changes of shape and transpositions, one after the other, keep the order of the
        elements of `first`."""
        swaps = {let.name: let.value.attributes for let in moves if isinstance(let.value, Call)}
        if not any(isinstance(each, Transpose) for each in swaps.values()):
            return True
        shape = self._shape(first.name)
        numbers = moved = np.arange(prod(shape)).reshape(shape)
        for name, attributes in swaps.items():
            if isinstance(attributes, Transpose):
                moved = moved.transpose(attributes.perm)
            else:
                moved = moved.reshape(self._shape(name))
        return bool((moved.ravel() == numbers.ravel()).all())

    def _maker(self, var: Var) -> tuple[str, Var | None]:
        let = self._made.get(var.name)
        return ("", None) if let is None else _unary(let)

    def _alike(self, let: Let | Var, other: Var) -> bool:
        return self._types[let.name] == self._types[other.name]

    def _shape(self, name: str) -> tuple[int, ...]:
        type_ = self._types[name]
        assert isinstance(type_, TensorType), "verified: operators take tensors"
        return type_.static_shape(name)


def _unary(let: Let) -> tuple[str, Var | None]:
    """The operator and operand of a unary call on a variable; else ("", None)."""
    match let.value:
        case Call(callee=OpSpec(name=name), args=(Var() as operand,)):
            return name, operand
        case _:
            return "", None
