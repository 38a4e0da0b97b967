"""Where the verifier is in a program: what is around, what is in scope, what expressions mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, assert_never

from compiler.errors import IRError
from compiler.ir.buffer import Buffer
from compiler.ir.dtypes import BOOL, INDEX, DType
from compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    binary,
    constant,
    unary,
)
from compiler.ir.printer import declaration, text
from compiler.ir.syntax import MAX_DEPTH, NUMBER_WORDS, is_name

__all__ = ["Place"]


class Place:
    """A place in a program.

    Attributes
    ----------
    taken
        Names of all loops and buffers so far, and what they belong to.
    buffers
        Those in scope.
    variables
        Names of those in scope.
    """

    def __init__(self, name: str) -> None:
        self._path = [f"function {name}"]
        self.taken: dict[str, str] = {}
        self.buffers: dict[str, Buffer] = {}
        self.variables: set[str] = set()

    def fail(self, message: str) -> NoReturn:
        """Refuse the program."""
        raise IRError(f"{' > '.join(self._path)}: {message}")

    @contextmanager
    def inside(self, place: str) -> Iterator[None]:
        """Within, messages name this too."""
        self._path.append(place)
        yield
        self._path.pop()

    def name(self, name: str, what: str) -> None:
        """Check that a name can be written; `what` has it."""
        if not is_name(name):
            self.fail(f"{name!r} cannot be the name of {what}: letters, digits, _ and . are used")

    def take(self, name: str, what: str) -> None:
        """Give a name, which nobody else has."""
        self.name(name, what)
        if name in self.taken:
            self.fail(f"{name} names {what}, and already {self.taken[name]}")
        self.taken[name] = what

    def declare(self, buffer: Buffer, what: str) -> None:
        """Bring a buffer into scope."""
        self.take(buffer.name, what)
        self.buffers[buffer.name] = buffer

    def variable(self, var: Var, what: str) -> None:
        """Check what is declared as a variable."""
        self.name(var.name, what)
        if var.name in NUMBER_WORDS:
            self.fail(f"{var.name} cannot be the name of {what}: it is a number")
        if var.dtype != INDEX:
            self.fail(f"{var.name} is {var.dtype}: variables are {INDEX}")

    def access(self, buffer: Buffer, indices: Sequence[Expr], depth: int) -> None:
        """Check an element of a buffer: that it is in scope, and its indices' number and type."""
        declared = self.buffers.get(buffer.name)
        if declared is None:
            names = ", ".join(self.buffers) or "none"
            self.fail(f"there is no buffer {buffer.name} here; there are {names}")
        if declared != buffer:
            self.fail(
                f"{buffer.name} is used as {declaration(buffer)}, and declared as "
                f"{declaration(declared)}"
            )
        if len(indices) != len(buffer.shape):
            self.fail(
                f"{buffer.name} has {len(buffer.shape)} dimensions {buffer.shape}, not "
                f"{len(indices)}"
            )
        for index in indices:
            self.expr(index, INDEX, f"an index of {buffer.name}", depth)

    def expr(self, expr: Expr, expected: DType, what: str, depth: int) -> None:
        """Check an expression of which the place tells the type. `what` it is, is for messages;
        `depth` is that of the statement or expression above."""
        self._typed(expr, depth + 1)
        if expr.dtype != expected:
            self.fail(f"{what} is {expected}, not {expr.dtype}: {text(expr)}")

    def _typed(self, expr: Expr, depth: int) -> None:
        """Check an expression of any type."""
        if depth > MAX_DEPTH:
            self.fail(f"an expression is nested more than {MAX_DEPTH} deep")
        match expr:
            case Const():
                self._const(expr)
            case Var(name=name, dtype=dtype):
                if name not in self.variables:
                    names = ", ".join(sorted(self.variables)) or "none"
                    self.fail(f"variable {name} is not in scope; there are {names}")
                if dtype != INDEX:
                    self.fail(f"variable {name} is {INDEX}, not {dtype}")
            case Load(buffer=buffer, indices=indices):
                self.access(buffer, indices, depth)
            case Cast(operand=operand):
                self._typed(operand, depth + 1)
            case Unary():
                self._typed(expr.operand, depth + 1)
                self._operation(expr, lambda: unary(expr.op, expr.operand))
            case Binary():
                self._typed(expr.left, depth + 1)
                self._typed(expr.right, depth + 1)
                self._operation(expr, lambda: binary(expr.op, expr.left, expr.right))
            case Select(condition=condition, then=then, otherwise=otherwise):
                self.expr(condition, BOOL, "the condition of a select", depth)
                self._typed(then, depth + 1)
                self.expr(otherwise, then.dtype, "the other value of a select", depth)
            case _:
                assert_never(expr)

    def _operation(self, expr: Expr, build: Callable[[], Expr]) -> None:
        try:
            build()
        except IRError as error:
            self.fail(f"in {text(expr)}: {error}")

    def _const(self, const: Const) -> None:
        value, dtype = const.value, const.dtype
        allowed = bool if dtype == BOOL else float if dtype.is_float else int
        if type(value) is not allowed:
            self.fail(f"a constant of {dtype} holds {type(value).__name__} {value!r}")
        try:
            rounded = constant(value, dtype).value
        except IRError as error:
            self.fail(str(error))
        if rounded != value and value == value:
            self.fail(f"{value!r} is no {dtype}: {rounded!r} is")
