"""Graph pass that removes conversions of layouts that change no byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Atom, Body, Call, Function, Let, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.layouts import Convert, View
from tandem.compiler.graph.operators.shapes import Transpose
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import all_lets, map_atoms, map_bodies, map_functions, names_of
from tandem.compiler.layouts.layout import Layout
from tandem.compiler.plan.placement import PLACED

_SHAPES = frozenset({"reshape", "flatten", "squeeze", "unsqueeze"})
"""Operators that change a tensor's shape only, not the order of elements."""


@dataclass(frozen=True, slots=True)
class CancelConversions:
    """Removes conversions of layouts that cancel out; dead values are left for `EliminateDead`.

    ::

        y = convert(y_blocks, source=L)
        z_blocks = convert(y, target=L)      ->     z_blocks = y_blocks
        b = reshape(a), c = flatten(b)              c = a, if a has that type

    Between two conversions there may be changes of shape and transpositions, as those of
    attention's heads, and a value may be converted in two shapes: where the bytes are the same
    after all, a view of these remains.

    Converting back and forth would reset the padding of blocks to zero. It is undefined without,
    and that is safe: of the accelerator's operators only products mix the elements of a block, and
    their weights are zero in the padding. Weights that are computed when the network runs are in a
    layout whose padding is zero.
    """

    name: str = "cancel-conversions"

    def apply(self, function: Function) -> Function:
        """The function with fewer conversions."""
        verify(function)
        return map_functions(
            function, lambda one: replace(one, body=_Canceller(infer(one), one).body(one.body))
        )


@dataclass(frozen=True, slots=True)
class _Stored:
    """A tensor in a layout, whose elements are those of a row-major value after `moves`.

    Attributes
    ----------
    zero
        Whether its padding is zero, as that of what the host converts.
    """

    name: str
    moves: tuple[Let, ...]
    zero: bool


class _Canceller:
    def __init__(self, types: Mapping[str, Type], function: Function) -> None:
        self._types = types
        self._placed = {
            name
            for let in all_lets(function.body)
            if isinstance(let.value, Call) and isinstance(let.value.callee, Function)
            if let.value.callee.template == PLACED
            for name in names_of(let.value)
        }
        """What lies within other tensors: one tensor cannot lie in two."""
        self._made: dict[str, Let] = {}
        self._same: dict[str, Atom] = {}
        """By the name of a redundant value, the earlier value that equals it."""
        self._stored: dict[str, list[_Stored]] = {}
        """Tensors in layouts by the row-major value that they store, or are the source of."""

    def body(self, body: Body) -> Body:
        """The body, in the scope of the values seen before."""
        lets = []
        around = {name: [*each] for name, each in self._stored.items()}
        for let in body.lets:
            value = map_bodies(map_atoms(let.value, self._known), self.body)
            changed = replace(let, value=value)
            self._made[let.name] = changed
            same = self._earlier(changed)
            if isinstance(same, Var):
                self._same[let.name] = same
            elif same is not None:
                changed = replace(changed, value=same)
            lets.append(changed)
        # What a branch converts is known there only.
        self._stored = around
        return Body(tuple(lets), self._known(body.result))

    def _known(self, atom: Atom) -> Atom:
        return self._same.get(atom.name, atom) if isinstance(atom, Var) else atom

    def _earlier(self, let: Let) -> Var | Call | None:
        """An earlier value that equals the value of `let`, or a view of one; None if there is
        none."""
        match let.value:
            case Call(args=(Var(name),), attributes=Convert(source=Layout(), target=None)):
                self._stored.setdefault(let.name, []).append(_Stored(name, (), zero=False))
                return None
            case Call(args=(Var() as plain,), attributes=Convert(source=None, target=Layout())):
                return self._in_layout(let, plain)
        operator, operand = _unary(let)
        while operator in _SHAPES and operand is not None:
            if self._type(let.name) == self._type(operand.name):
                return operand
            operator, operand = self._maker(operand)
        return None

    def _in_layout(self, let: Let, plain: Var) -> Var | Call | None:
        """A tensor that has the bytes of a conversion from row-major, or a view of it."""
        moves = list[Let]()
        operator, before = self._maker(plain)
        while before is not None and (operator in _SHAPES or operator == "transpose"):
            moves.insert(0, self._made[plain.name])
            plain = before
            operator, before = self._maker(plain)
        known = self._stored.setdefault(plain.name, [])
        own, wanted = _Stored(let.name, tuple(moves), zero=True), self._type(let.name)
        for stored in known if let.name not in self._placed else ():
            if self._same_bytes(stored, own, plain.name):
                if self._type(stored.name) == wanted:
                    return Var(stored.name)
                shape = wanted.static_shape(let.name)
                return Call(OPERATORS["view"], (Var(stored.name),), View(shape, wanted.layout))
        known.append(own)
        return None

    def _same_bytes(self, found: _Stored, wanted: _Stored, plain: str) -> bool:
        """Whether two tensors store the elements of `plain` in the same places."""
        one, other = self._type(found.name), self._type(wanted.name)
        if one == other and not found.moves and not wanted.moves:
            return True
        if one.stored.dtype != other.stored.dtype or one.stored.size != other.stored.size:
            return False
        assert other.layout is not None, "in a layout"
        axes = other.layout.padded_axes(other.static_shape(wanted.name))
        if not found.zero and any(zero for _, zero in axes):
            return False
        return np.array_equal(self._places(found, plain), self._places(wanted, plain))

    def _places(self, stored: _Stored, plain: str) -> NDArray[np.int64]:
        """Where each element of `plain` is stored."""
        type_ = self._type(stored.name)
        assert type_.layout is not None, "in a layout"
        places = type_.layout.positions(type_.static_shape(stored.name))
        names = [plain, *(let.name for let in stored.moves)][:-1]
        for let, before in zip(reversed(stored.moves), reversed(names), strict=True):
            match let.value:
                case Call(attributes=Transpose(perm=perm)):
                    places = places.transpose(None if perm is None else np.argsort(perm))
                case _:
                    places = places.reshape(self._type(before).static_shape(before))
        return places

    def _maker(self, var: Var) -> tuple[str, Var | None]:
        let = self._made.get(var.name)
        return ("", None) if let is None else _unary(let)

    def _type(self, name: str) -> TensorType:
        type_ = self._types[name]
        assert isinstance(type_, TensorType), "verified: operators take tensors"
        return type_


def _unary(let: Let) -> tuple[str, Var | None]:
    """The operator and operand of a unary call on a variable; else ("", None)."""
    match let.value:
        case Call(callee=OpSpec(name=name), args=(Var() as operand,)):
            return name, operand
        case _:
            return "", None
