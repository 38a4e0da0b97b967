"""Compiles expressions to Python functions, for the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

from numpy.typing import NDArray

from tandem.compiler.errors import IRError
from tandem.compiler.ir.arithmetic import (
    binary_function,
    cast_function,
    reinterpret_function,
    unary_function,
    value_of,
)
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Binary, Cast, Const, Expr, Load, Reinterpret, Select, Unary, Var

Value: TypeAlias = Callable[[], Any]
"""Computes an expression's value in the current iteration of all loops."""

Cell: TypeAlias = list[int]
"""A variable: the only element is its value."""


@dataclass(slots=True)
class Memory:
    """The elements of a buffer: `cells[offset + sum(index * stride)]`.

    An unwritten element is None; a written element is a value as `arithmetic` defines.
    """

    buffer: Buffer
    strides: tuple[int, ...]
    offset: int = 0
    cells: list[Any] = field(default_factory=list)

    def clear(self) -> None:
        """Allocate the elements, all undefined."""
        self.cells = [None] * self.buffer.size

    def fill(self, array: NDArray[Any]) -> None:
        """Copy the elements of an array of the same shape and type."""
        flat = array.ravel().view(self.buffer.dtype.holder.numpy)
        # NumPy's scalars keep the type that floats round to.
        self.cells = list(flat) if self.buffer.dtype.is_float else flat.tolist()


@dataclass(frozen=True, slots=True)
class Frame:
    """The names in scope at one point of a program.

    Attributes
    ----------
    memories
        The memories, by the buffers' names. Shared by all frames of a program.
    variables
        The variables, by name.
    enclosing
        All enclosing loops and axes, in scope or not, for messages.
    """

    memories: dict[str, Memory]
    variables: Mapping[str, Cell]
    enclosing: tuple[tuple[str, Cell], ...]

    def declare(self, buffer: Buffer) -> Memory:
        """Return the memory of a buffer, without elements if it is new."""
        return self.memories.setdefault(buffer.name, Memory(buffer, buffer.strides))

    def inside_loop(self, name: str, cell: Cell) -> Frame:
        """Return a frame with one more variable."""
        return Frame(self.memories, {**self.variables, name: cell}, (*self.enclosing, (name, cell)))

    def inside_block(self, axes: Mapping[str, Cell]) -> Frame:
        """Return a frame whose only variables are a block's axes."""
        return Frame(self.memories, axes, (*self.enclosing, *axes.items()))

    def error(self, message: str) -> IRError:
        """Return an error that names the current iteration."""
        values = ", ".join(f"{name} = {cell[0]}" for name, cell in self.enclosing)
        return IRError(f"{message}, at {values}" if values else message)

    def value(self, expr: Expr) -> Value:
        """Return a function that computes the expression's value."""
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
            case Reinterpret(operand=operand, dtype=dtype):
                return _applied(reinterpret_function(operand.dtype, dtype), self.value(operand))
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

    def position(self, memory: Memory, indices: Sequence[Expr]) -> Callable[[], int]:
        """Return a function that computes the position of an element among a memory's cells."""
        buffer = memory.buffer
        values = [self.value(index) for index in indices]
        axes = tuple(zip(values, buffer.shape, memory.strides, strict=True))

        def find() -> int:
            found = memory.offset
            for value, extent, stride in axes:
                index = value()
                if not 0 <= index < extent:
                    name = element(buffer, [each() for each in values])
                    raise self.error(f"{name} lies outside the buffer")
                found += index * stride
            return found

        return find

    def _load(self, memory: Memory, indices: Sequence[Expr]) -> Value:
        position = self.position(memory, indices)

        def read() -> Any:
            value = memory.cells[position()]
            if value is None:
                name = element(memory.buffer, [self.value(each)() for each in indices])
                raise self.error(f"{name} is read before it is written")
            return value

        return read


def element(buffer: Buffer, index: Sequence[int]) -> str:
    """The name of an element, for messages."""
    return f"{buffer.name}[{', '.join(map(str, index))}] (shape {buffer.shape})"


def _applied(function: Callable[[Any], Any], operand: Value) -> Value:
    return lambda: function(operand())
