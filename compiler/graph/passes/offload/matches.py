"""Operators that together are one of the accelerator's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.graph.attributes import NOTHING, Attributes
from compiler.graph.constant import Constant
from compiler.graph.nodes import Atom, Body, Call, Let, Var
from compiler.graph.operators.elementwise import Cast
from compiler.graph.operators.reductions import Reduction
from compiler.graph.opspec import OpSpec
from compiler.graph.types import TensorType, Type
from compiler.graph.visit import atoms, use_counts
from compiler.ir.dtypes import INT8, INT32

__all__ = ["Match", "matches"]

_PRODUCTS = ("conv2d", "dense")


@dataclass(frozen=True, slots=True)
class Match:
    """Operators of one kernel.

    Attributes
    ----------
    lets
        In order; the last one's value is what others use.
    data
        Names of the int8 tensors that it reads, those that have to be in blocks: what its first
        operator reads, then what its last one adds, which may be the same.
    wide
        The result is int32, which leaves in bytes.
    """

    lets: tuple[Let, ...]
    data: tuple[str, ...]
    wide: bool = False

    @property
    def multiplies(self) -> bool:
        """It begins with products: the first operand is the array's, any others the ALU's."""
        return _Op.of(self.lets[0]).operator in _PRODUCTS

    @property
    def name(self) -> str:
        """Of the result."""
        return self.lets[-1].name


def matches(body: Body, types: Mapping[str, Type]) -> Iterator[Match]:
    """All that could run there, as far as operators and types tell; no operator is in two."""
    finder = _Finder(body, types)
    for let in body.lets:
        found = finder.at(let)
        if found is not None:
            finder.taken |= {each.name for each in found.lets}
            yield found


@dataclass(frozen=True, slots=True)
class _Op:
    """An operator's call. Of other values, `operator` is empty."""

    let: Let
    operator: str
    args: tuple[Atom, ...]
    attributes: Attributes

    @staticmethod
    def of(let: Let) -> _Op:
        match let.value:
            case Call(callee=OpSpec(name=name), args=args, attributes=attributes):
                return _Op(let, name, args, attributes)
            case _:
                return _Op(let, "", (), NOTHING)


class _Finder:
    def __init__(self, body: Body, types: Mapping[str, Type]) -> None:
        self._types = types
        self._made = {let.name: _Op.of(let) for let in body.lets}
        self._uses = use_counts(body)
        self._users: dict[str, list[str]] = {}
        """Operators that read a value."""
        for let in body.lets:
            for arg in atoms(let.value):
                if isinstance(arg, Var):
                    self._users.setdefault(arg.name, []).append(_Op.of(let).operator)
        self.taken: set[str] = set()

    def at(self, let: Let) -> Match | None:
        """What ends here."""
        op = self._made[let.name]
        match op.operator:
            case "requantise":
                return self._rounded(op, ())
            case "requantise_add":
                skip = op.args[3]
                if not isinstance(skip, Var) or not isinstance(op.args[4], Constant):
                    return None
                return self._rounded(op, (skip.name,))
            case "max_pool":
                data = self._blocks(op.args[0])
                return None if data is None else Match((let,), (data,))
            case "dense":
                return self._logits(op)
        return None

    def _rounded(self, op: _Op, skips: tuple[str, ...]) -> Match | None:
        if not all(isinstance(each, Constant) for each in op.args[1:3]):
            return None
        if any(self._blocks(Var(each)) is None for each in skips):
            return None
        sums = self._sums(op.args[0], skips)
        if sums is None:
            return None
        lets, data = sums
        return Match((*lets, op.let), (data, *skips))

    def _sums(self, acc: Atom, skips: Sequence[str]) -> tuple[tuple[Let, ...], str] | None:
        """What makes an accumulator of int8, and of which."""
        op = self._made.get(acc.name) if isinstance(acc, Var) else None
        if op is None:
            return None
        if op.operator == "cast":
            data = self._widened(op)
            return None if data is None else ((op.let,), data)
        if op.let.name in self.taken or self._uses[op.let.name] != 1:
            return None
        if op.operator == "reduce_sum":
            return None if skips else self._image_sums(op)
        return self._products(op)

    def _products(self, op: _Op) -> tuple[tuple[Let, ...], str] | None:
        if op.operator not in _PRODUCTS or len(op.args) != 2:
            return None
        data, weight = self._blocks(op.args[0]), op.args[1]
        if data is None or not isinstance(weight, Constant) or weight.type.dtype != INT8:
            return None
        return (op.let,), data

    def _image_sums(self, op: _Op) -> tuple[tuple[Let, ...], str] | None:
        given, operand = op.attributes, op.args[0]
        if not isinstance(given, Reduction) or not isinstance(operand, Var) or given.axes is None:
            return None
        if not given.keepdims or {axis % 4 for axis in given.axes} != {2, 3}:
            return None
        cast = self._made.get(operand.name)
        data = None if cast is None else self._widened(cast)
        return None if cast is None or data is None else ((cast.let, op.let), data)

    def _widened(self, op: _Op) -> str | None:
        """What is cast to int32, if it is int8 in four dimensions."""
        if not isinstance(op.attributes, Cast) or op.attributes.to != INT32:
            return None
        data = self._blocks(op.args[0])
        return data if data is not None and self._rank(data) == 4 else None

    def _logits(self, op: _Op) -> Match | None:
        """A dense layer whose sums nobody rounds."""
        rounded = {"requantise", "requantise_add"} & {*self._users.get(op.let.name, [])}
        found = None if rounded else self._products(op)
        return None if found is None else Match(found[0], (found[1],), wide=True)

    def _blocks(self, atom: Atom) -> str | None:
        """The name of an int8 tensor of images, or of rows."""
        if not isinstance(atom, Var):
            return None
        type_ = self._types[atom.name]
        int8 = isinstance(type_, TensorType) and type_.dtype == INT8
        return atom.name if int8 and self._rank(atom.name) in (2, 4) else None

    def _rank(self, name: str) -> int:
        type_ = self._types[name]
        return len(type_.shape) if isinstance(type_, TensorType) else 0
