"""Graph pass: inputs of rows stay as a target reads them, and new rows are written in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import (
    Atom,
    Body,
    Call,
    Function,
    FunctionKind,
    Let,
    Param,
    Value,
    Var,
)
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.layouts import Convert, PutRows, View
from tandem.compiler.graph.operators.parts import Concat
from tandem.compiler.graph.operators.quantised import Quantise
from tandem.compiler.graph.operators.shapes import Reshape, Transpose
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes.eliminate_dead import EliminateDead
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.visit import names_of, names_taken, substitute
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.layouts.layout import Layout
from tandem.compiler.plan.offload.row_places import RowPlaces, row_places

_ROWS: Final = 2
"""The axis of rows of an input [1, heads, rows, features]."""
_RANK: Final = 4
_RESHAPED: Final = frozenset({"reshape", "flatten", "squeeze", "unsqueeze"})
Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class KeepRows:
    """Makes inputs of what streams read of them.

    ::

        func @f(past: float32[1, H, R, D])      func @f(past: int8[...])
        old = quantise(past)                    rows = new, as int8[n, H * D]
        all = concat(old, new, axis=2)     ->   keys = put_rows(past, rows, first=R)
        keys = convert(transpose(all))
        y = @stream(keys)                       y = @stream(keys)

    The input has the stored elements of `keys`, in which a row of `past` may lie anywhere, and
    several times. So who keeps the input from run to run writes a new row to it, and neither
    rounds nor packs the old ones. The stream reads them as a view of the layout.

    An input stays as it is if something else reads it, or if its rows are not at even distances.

    Attributes
    ----------
    inputs
        Names of parameters.
    """

    inputs: tuple[str, ...]
    name: str = "keep-rows"

    def apply(self, function: Function) -> Function:
        """The function with such inputs."""
        infer(function)
        for name in self.inputs:
            changed = _Keeper(function).kept(name)
            if changed is not None:
                function = changed
        return function


@dataclass(frozen=True, slots=True)
class _Operand:
    """A tensor that a stream reads, of old rows and new ones.

    Attributes
    ----------
    moves
        What becomes of all rows, in order; the last one brings them into a layout.
    """

    name: str
    new: Var
    whole: str
    moves: tuple[Let, ...]


class _Keeper:
    def __init__(self, function: Function) -> None:
        self._function = function
        self._types: Mapping[str, Type] = infer(function)
        self._made = {let.name: let for let in function.body.lets}
        self._taken = names_taken(function)

    def kept(self, name: str) -> Function | None:
        """The function that takes the input as a stream reads it; None if that cannot be."""
        operands = [*self._operands(name)]
        if len(operands) != 1:
            return None
        (operand,) = operands
        places = self._places(operand)
        if places is None or not self._only_streams_read(operand.name):
            return None
        changed = self._rewritten(name, operand, places)
        readers = Counter(let.name for let in changed.body.lets if name in names_of(let.value))
        return changed if readers == Counter([operand.name]) else None

    def _only_streams_read(self, name: str) -> bool:
        """Whether nothing but calls of streams reads a value."""
        body = self._function.body
        readers = [let.value for let in body.lets if name in names_of(let.value)]
        return body.result != Var(name) and all(Var(name) in _stream_args(each) for each in readers)

    def _operands(self, name: str) -> Iterator[_Operand]:
        """What streams read of an input's rows."""
        read = {
            atom.name
            for let in self._function.body.lets
            for atom in _stream_args(let.value)
            if isinstance(atom, Var)
        }
        for let in self._function.body.lets:
            if let.name in read and (found := self._operand(let, name)) is not None:
                yield found

    def _operand(self, let: Let, name: str) -> _Operand | None:
        match let.value:
            case Call(attributes=Convert(source=None, target=Layout())):
                pass
            case _:
                return None
        moves, found = [let], self._maker(let)
        while found is not None and _moves(found.value):
            moves.insert(0, found)
            found = self._maker(found)
        match None if found is None else found.value:
            case Call(attributes=Concat(axis=axis), args=(Var(name=old), Var() as new)) if (
                found is not None
                and len(self._shape(found.name)) == _RANK
                and axis % _RANK == _ROWS
            ):
                pass
            case _:
                return None
        assert found is not None, "matched"
        match self._made[old].value if old in self._made else None:
            case Call(
                attributes=Quantise(to=to),
                args=(Var(name=source), Constant() as step, Constant() as zero),
            ) if source == name and to == INT8 and step.array.size == zero.array.size == 1:
                return _Operand(let.name, new, found.name, tuple(moves))
            case _:
                return None

    def _maker(self, let: Let) -> Let | None:
        """What made the operand of an operator of one."""
        match let.value:
            case Call(args=(Var(name=name),)):
                return self._made.get(name)
            case _:
                return None

    def _places(self, operand: _Operand) -> RowPlaces | None:
        """Where rows lie in an operand."""
        shape = self._shape(operand.whole)
        numbers: Array = np.arange(prod(shape), dtype=np.int64).reshape(shape)
        for let in operand.moves[:-1]:
            numbers = _moved(let.value, numbers, self._shape(let.name))
        last = operand.moves[-1].value
        assert isinstance(last, Call), "a conversion"
        assert isinstance(last.attributes, Convert), "a conversion"
        layout = last.attributes.target
        assert layout is not None, "into a layout"
        stored = np.full(prod(layout.stored_shape(numbers.shape)), -1, np.int64)
        stored[layout.positions(numbers.shape).reshape(-1)] = numbers.reshape(-1)
        _, _, rows, features = shape
        head, inner = stored // (rows * features), stored % features
        row = np.where(stored < 0, -1, stored // features % rows)
        element = np.where(stored < 0, -1, head * features + inner)
        shape_stored = layout.stored_shape(numbers.shape)
        return row_places(row.reshape(shape_stored), element.reshape(shape_stored), rows)

    def _rewritten(self, name: str, operand: _Operand, places: RowPlaces) -> Function:
        """The function that takes the input as it is stored."""
        count, first = self._shape(operand.new.name)[_ROWS], self._shape(operand.whole)[_ROWS]
        turned = unique_name(f"{operand.new.name}_turned", self._taken)
        rows = unique_name(f"{operand.new.name}_rows", self._taken)
        put = PutRows(places.row_steps, places.element_steps, first - count)
        added = [
            Let(turned, Call(OPERATORS["transpose"], (operand.new,), Transpose((2, 0, 1, 3)))),
            Let(rows, Call(OPERATORS["reshape"], (Var(turned),), Reshape((count, -1)))),
            replace(
                self._made[operand.name],
                value=Call(OPERATORS["put_rows"], (Var(name), Var(rows)), put),
                type=None,
            ),
        ]
        stored = TensorType(places.shape, INT8)
        layout = self._types[operand.name]
        assert isinstance(layout, TensorType), "converted"
        lets: list[Let] = []
        for let in self._function.body.lets:
            if let.name == operand.name:
                lets += added
            else:
                lets.append(replace(let, value=_viewing(let.value, operand.name, stored, layout)))
        params = tuple(
            Param(param.name, stored) if param.name == name else param
            for param in self._function.params
        )
        body = Body(tuple(lets), self._function.body.result)
        # Without types: the old rows have the input's new one, until they go.
        dead = EliminateDead().apply(replace(self._function, body=body))
        return replace(dead, params=params)

    def _shape(self, name: str) -> tuple[int, ...]:
        type_ = self._types[name]
        assert isinstance(type_, TensorType), "operators take tensors"
        return type_.static_shape(name)


def _stream_args(value: Value) -> Sequence[Atom]:
    match value:
        case Call(callee=Function(kind=FunctionKind.STREAM), args=args):
            return args
        case _:
            return ()


def _moves(value: Value) -> bool:
    """Whether a value only has the elements of another one in other places."""
    match value:
        case Call(callee=OpSpec(name=name), args=(Var(),)):
            return name in _RESHAPED or name in ("transpose", "expand")
        case _:
            return False


def _moved(value: Value, numbers: Array, shape: tuple[int, ...]) -> Array:
    """The numbers of elements after an operator that gives a value of a shape."""
    match value:
        case Call(attributes=Transpose(perm=perm)):
            return numbers.transpose(perm)
        case Call(callee=OpSpec(name="expand")):
            return np.broadcast_to(numbers, shape)
        case _:
            return numbers.reshape(shape)


def _viewing(value: Value, name: str, stored: TensorType, seen: TensorType) -> Value:
    """A call of a stream that takes an operand as it is stored, and views it in its layout."""
    match value:
        case Call(callee=Function(kind=FunctionKind.STREAM) as stream, args=args) if (
            Var(name) in args
        ):
            pass
        case _:
            return value
    taken, views, params = names_taken(stream), dict[str, Atom](), list[Param]()
    lets: list[Let] = []
    for param, arg in zip(stream.params, args, strict=True):
        if arg != Var(name):
            params.append(param)
            continue
        params.append(Param(param.name, stored))
        view = View(seen.static_shape(name), seen.layout)
        own = unique_name(f"{param.name}_view", taken)
        lets.append(Let(own, Call(OPERATORS["view"], (Var(param.name),), view)))
        views[param.name] = Var(own)
    body = substitute(stream.body, views)
    changed = replace(stream, params=tuple(params), body=Body((*lets, *body.lets), body.result))
    return replace(value, callee=changed)
