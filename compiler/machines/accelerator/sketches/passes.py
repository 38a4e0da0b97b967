"""Element-wise expressions behind sums, as stages of one operation each: what the ALU computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tandem.compiler.errors import Refusal
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Binary, Cast, Const, Expr, Load, binary
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import cast
from tandem.compiler.ir.visit import rewrite_expr, subexpressions
from tandem.compiler.te.build import stages
from tandem.compiler.te.tensor import Compute, Tensor

_COMMUTE: Final = (BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX)


def in_passes(output: Tensor) -> Tensor:
    """The same result, whose stages behind the sums have one operation each, and whose last one
    narrows an accumulator to a byte.

    Raises
    ------
    Refusal
        The result is no byte of an accumulator.
    """
    if output.source is None or output.dtype != INT8 or not isinstance(output.source.value, Cast):
        raise Refusal(
            f"{output.name} has to be a cast to int8 of sums or of what follows them: accumulators "
            f"leave as their low bytes"
        )
    found: dict[str, Tensor] = {}
    behind: set[str] = set()
    for tensor in stages([output]):
        source = tensor.source
        reads = set() if source is None else _read(source.value)
        if source is None or (source.combiner is None and not reads & behind):
            found[tensor.name] = tensor
        elif source.combiner is not None:
            found[tensor.name] = tensor
            behind.add(tensor.name)
        else:
            behind.add(tensor.name)
            found[tensor.name] = _Split(tensor, source, found).tensor(tensor is output)
    return found[output.name]


def _read(value: Expr) -> set[str]:
    return {part.buffer.name for part in subexpressions(value) if isinstance(part, Load)}


@dataclass
class _Split:
    """A stage while it is split.

    Attributes
    ----------
    known
        The stages before it, by their names in the expressions.
    """

    stage: Tensor
    source: Compute
    known: dict[str, Tensor]
    count: int = field(default=0)

    def tensor(self, last: bool) -> Tensor:
        """The stage in one operation; before it stages for its other operations."""
        value = self.source.value
        if last:
            assert isinstance(value, Cast), "checked"
            inside = self._at(self._value(value.operand))
            return self._computed(cast(inside, INT8), self.stage.name)
        return self._stage(self._one(value), self.stage.name)

    def _at(self, tensor: Tensor) -> Expr:
        return Load(tensor, self.source.axes)

    def _stage(self, value: Expr, name: str = "") -> Tensor:
        """A stage of a value; the tensor itself where the value is its element."""
        match value:
            case Load(buffer=Tensor() as tensor, indices=indices) if (
                indices == self.source.axes and tensor.source is not None
            ):
                return tensor
            case _:
                return self._computed(value, name)

    def _computed(self, value: Expr, name: str = "") -> Tensor:
        if not name:
            name = f"{self.stage.name}_{self.count}"
            self.count += 1
        source = Compute(self.source.axes, value)
        return Tensor(name, self.stage.shape, value.dtype, source=source)

    def _value(self, value: Expr) -> Tensor:
        """A tensor whose elements are those of an expression."""
        match value:
            case Cast(dtype=dtype, operand=operand) if dtype == operand.dtype:
                return self._value(operand)
            case Load(buffer=Tensor() as tensor, indices=indices) if (
                indices == self.source.axes and tensor.source is not None
            ):
                return self.known[tensor.name]
            case _:
                return self._stage(self._one(value))

    def _one(self, value: Expr) -> Expr:
        """An expression with one operation of what tensors hold."""
        if not isinstance(value, Binary):
            return self._renewed(value)
        first, second = value.left, value.right
        if value.op in _COMMUTE and _is_given(first) and not _is_given(second):
            # An operation writes to the place of its first operand.
            first, second = second, first
        left, right = (
            operand if self._is_operand(operand) else self._at(self._value(operand))
            for operand in (first, second)
        )
        return binary(value.op, self._renewed(left), self._renewed(right))

    def _is_operand(self, value: Expr) -> bool:
        """Whether an operation reads an operand as it is: a number, or an element of int32."""
        match value:
            case Const():
                return True
            case Load(buffer=Tensor() as tensor, indices=indices):
                return tensor.dtype == INT32 and (
                    tensor.source is not None
                    or indices != self.source.axes
                    or tensor.shape != self.stage.shape
                )
            case _:
                return False

    def _renewed(self, value: Expr) -> Expr:
        def change(node: Expr) -> Expr:
            match node:
                case Load(buffer=Tensor(name=name), indices=indices) if name in self.known:
                    return Load(self.known[name], indices)
                case _:
                    return node

        return rewrite_expr(value, change)


def _is_given(value: Expr) -> bool:
    """Whether an operand is a number, or an element of an input."""
    match value:
        case Const():
            return True
        case Load(buffer=Tensor(source=None)):
            return True
        case _:
            return False
