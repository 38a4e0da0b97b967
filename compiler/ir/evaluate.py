"""Expressions as Python functions: the interpreter's half that has no effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

from numpy.typing import NDArray

from compiler.errors import IRError
from compiler.ir.arithmetic import binary_function, cast_function, unary_function, value_of
from compiler.ir.buffer import Buffer
from compiler.ir.expr import Binary, Cast, Const, Expr, Load, Select, Unary, Var

__all__ = ["Cell", "Frame", "Memory", "Value", "element"]

Value: TypeAlias = Callable[[], Any]
"""Gives an expression's value in the present turn of all loops."""

Cell: TypeAlias = list[int]
"""A variable: its value is the one element."""


@dataclass(slots=True)
class Memory:
    """Where a buffer's elements are: `cells[offset + sum(index * stride)]`.

    The content of an element that nobody has written is None. The other contents are values in the
    sense of `arithmetic`.
    """

    buffer: Buffer
    strides: tuple[int, ...]
    offset: int = 0
    cells: list[Any] = field(default_factory=list)

    def clear(self) -> None:
        """Space of its own, all undefined."""
        self.cells = [None] * self.buffer.size

    def fill(self, array: NDArray[Any]) -> None:
        """The values of an array of the same shape and type."""
        flat = array.ravel()
        # Of floats the elements themselves: NumPy's scalars know which type they round to.
        self.cells = list(flat) if self.buffer.dtype.is_float else flat.tolist()


@dataclass(frozen=True, slots=True)
class Frame:
    """What is in scope at one place of a program.

    Attributes
    ----------
    memories
        By the buffer's name. Shared by all frames of a program.
    variables
        By name.
    trail
        All loops and axes around, also those out of scope: messages tell their turns.
    """

    memories: dict[str, Memory]
    variables: Mapping[str, Cell]
    trail: tuple[tuple[str, Cell], ...]

    def declare(self, buffer: Buffer) -> Memory:
        """A memory for a buffer; nothing is in it, not even space."""
        return self.memories.setdefault(buffer.name, Memory(buffer, buffer.strides))

    def inside_loop(self, name: str, cell: Cell) -> Frame:
        """With one more variable."""
        return Frame(self.memories, {**self.variables, name: cell}, (*self.trail, (name, cell)))

    def inside_block(self, axes: Mapping[str, Cell]) -> Frame:
        """With no variables but the axes'."""
        return Frame(self.memories, axes, (*self.trail, *axes.items()))

    def error(self, message: str) -> IRError:
        """An error that tells the present turns."""
        turns = ", ".join(f"{name} = {cell[0]}" for name, cell in self.trail)
        return IRError(f"{message}, at {turns}" if turns else message)

    def value(self, expr: Expr) -> Value:
        """A function that gives the expression's value."""
        match expr:
            case Const():
                constant = value_of(expr)
                return lambda: constant
            case Var(name=name):
                cell = self.variables[name]
                return lambda: cell[0]
            case Load(buffer=buffer, indices=indices):
                return self._load(self.memories[buffer.name], indices)
            case Unary(op=op, operand=operand):
                return _applied(unary_function(op, operand.dtype), self.value(operand))
            case Cast(operand=operand, dtype=dtype):
                return _applied(cast_function(operand.dtype, dtype), self.value(operand))
            case Binary(op=op, left=left, right=right):
                function = binary_function(op, left.dtype)
                a, b = self.value(left), self.value(right)
                return lambda: function(a(), b())
            case Select():
                condition = self.value(expr.condition)
                then, otherwise = self.value(expr.then), self.value(expr.otherwise)
                return lambda: then() if condition() else otherwise()
            case _:
                assert_never(expr)

    def place(self, memory: Memory, indices: Sequence[Expr]) -> Callable[[], int]:
        """A function that gives where in a memory's cells an element lies."""
        buffer = memory.buffer
        values = [self.value(index) for index in indices]
        axes = tuple(zip(values, buffer.shape, memory.strides, strict=True))

        def find() -> int:
            place = memory.offset
            for value, extent, stride in axes:
                index = value()
                if not 0 <= index < extent:
                    name = element(buffer, [each() for each in values])
                    raise self.error(f"{name} lies outside the buffer")
                place += index * stride
            return place

        return find

    def _load(self, memory: Memory, indices: Sequence[Expr]) -> Value:
        place = self.place(memory, indices)

        def read() -> Any:
            value = memory.cells[place()]
            if value is None:
                name = element(memory.buffer, [self.value(each)() for each in indices])
                raise self.error(f"{name} is read, but nobody has written it")
            return value

        return read


def element(buffer: Buffer, index: Sequence[int]) -> str:
    """An element's name, for messages."""
    return f"{buffer.name}[{', '.join(map(str, index))}] (shape {buffer.shape})"


def _applied(function: Callable[[Any], Any], operand: Value) -> Value:
    return lambda: function(operand())
