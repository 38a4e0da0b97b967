"""The names in scope at one point of a program, and the types of expressions there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, assert_never

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, INDEX, DType, Kind
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    ExprFacts,
    Load,
    Reinterpret,
    Select,
    Unary,
    Var,
    binary_dtype,
    check_cast,
    check_reinterpret,
    represented,
    unary_dtype,
)
from tandem.compiler.ir.facts import expr_facts
from tandem.compiler.ir.printer import declaration, text
from tandem.compiler.ir.syntax import MAX_DEPTH, NUMBER_WORDS, is_name

_HELD_AS = {Kind.BOOL: bool, Kind.FLOAT: float, Kind.INT: int, Kind.UINT: int}


class VerifierScope:
    """The state of the verifier at one point of a program.

    Attributes
    ----------
    declared
        From the name of each loop and buffer so far to a description of the named object.
    buffers
        The buffers in scope, by name.
    variables
        The names of the variables in scope.
    """

    def __init__(self, name: str) -> None:
        self._path = [("function", name)]
        self.declared: dict[str, str] = {}
        self.buffers: dict[str, Buffer] = {}
        self.variables: set[str] = set()

    def fail(self, message: str) -> NoReturn:
        """Raise an error that names the enclosing function, loops and blocks."""
        path = " > ".join(f"{what} {name}" for what, name in self._path)
        raise IRError(f"{path}: {message}")

    def enter(self, what: str, name: str) -> None:
        """Enter a loop, a block or an intrinsic, which messages then name."""
        self._path.append((what, name))

    def leave(self) -> None:
        """Leave the loop, block or intrinsic entered last."""
        self._path.pop()

    def check_name(self, name: str, what: str) -> None:
        """Check that a name is legal in the text form; `what` describes the named object."""
        if not is_name(name):
            self.fail(f"{name!r} cannot be the name of {what}: letters, digits, _ and . are used")

    def declare_name(self, name: str, what: str) -> None:
        """Declare a name, which must be unique."""
        if name in self.declared:
            self.fail(f"{name} names {what}, and already {self.declared[name]}")
        self.declared[name] = what

    def declare(self, buffer: Buffer, what: str) -> None:
        """Bring a buffer into scope."""
        self.check_name(buffer.name, what)
        self.declare_name(buffer.name, what)
        self.buffers[buffer.name] = buffer

    def variable(self, var: Var, what: str) -> None:
        """Check the declaration of a variable."""
        self.check_name(var.name, what)
        if var.name in NUMBER_WORDS:
            self.fail(f"{var.name} cannot be the name of {what}: it is a number")
        if var.dtype is not INDEX and var.dtype != INDEX:
            self.fail(f"{var.name} is {var.dtype}: variables are {INDEX}")

    def check_access(self, buffer: Buffer, indices: Sequence[Expr], depth: int) -> None:
        """Check an access: that the buffer is in scope, and the number and types of the indices."""
        declared = self.buffers.get(buffer.name)
        if declared is None:
            names = ", ".join(self.buffers) or "none"
            self.fail(f"there is no buffer {buffer.name} here; there are {names}")
        if declared is not buffer and declared != buffer:
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
        """Check an expression of an expected type. `what` describes it in messages; `depth` is the
        depth of the parent statement or expression."""
        found = self._typed(expr, depth + 1)
        if found is not expected and found != expected:
            self.fail(f"{what} is {expected}, not {found}: {text(expr)}")

    def _typed(self, expr: Expr, depth: int) -> DType:
        """Check an expression of any type and return the type, which is cached in the node."""
        found: DType | None = getattr(expr, "verified_dtype", None)
        if found is not None:
            number = isinstance(expr, Const) and depth <= MAX_DEPTH
            if number or self._fits(expr_facts(expr), depth):
                return found
        if depth > MAX_DEPTH:
            self.fail(f"an expression is nested more than {MAX_DEPTH} deep")
        found = self._type(expr, depth)
        object.__setattr__(expr, "verified_dtype", found)
        return found

    def _fits(self, known: ExprFacts, depth: int) -> bool:
        """Whether an expression that was verified elsewhere is legal here."""
        return (
            depth + known.height - 1 <= MAX_DEPTH
            and known.variables <= self.variables
            and (
                not known.loads
                or all(self.buffers.get(name) == buffer for name, buffer in known.loads.items())
            )
        )

    def _type(self, expr: Expr, depth: int) -> DType:
        match expr:
            case Const():
                return self._const(expr)
            case Var(name=name, dtype=dtype):
                if name not in self.variables:
                    names = ", ".join(sorted(self.variables)) or "none"
                    self.fail(f"variable {name} is not in scope; there are {names}")
                if dtype is not INDEX and dtype != INDEX:
                    self.fail(f"variable {name} is {INDEX}, not {dtype}")
                return dtype
            case Load(buffer=buffer, indices=indices):
                self.check_access(buffer, indices, depth)
                return buffer.dtype
            case Cast(operand=operand, dtype=dtype):
                self._converted(check_cast, operand, dtype, depth)
                return dtype
            case Reinterpret(operand=operand, dtype=dtype):
                self._converted(check_reinterpret, operand, dtype, depth)
                return dtype
            case Unary(op=op, operand=operand):
                inner = self._typed(operand, depth + 1)
                try:
                    return unary_dtype(op, inner)
                except IRError as error:
                    self.fail(f"in {text(expr)}: {error}")
            case Binary(op=operation, left=left, right=right):
                first, second = self._typed(left, depth + 1), self._typed(right, depth + 1)
                try:
                    return binary_dtype(operation, first, second)
                except IRError as error:
                    self.fail(f"in {text(expr)}: {error}")
            case Select(condition=condition, then=then, otherwise=otherwise):
                self.expr(condition, BOOL, "the condition of a select", depth)
                chosen = self._typed(then, depth + 1)
                self.expr(otherwise, chosen, "the other value of a select", depth)
                return chosen
            case _:
                assert_never(expr)

    def _converted(
        self, check: Callable[[DType, DType], None], operand: Expr, dtype: DType, depth: int
    ) -> None:
        """Verify the operand of a conversion, which `check` allows or not."""
        try:
            check(self._typed(operand, depth + 1), dtype)
        except IRError as error:
            self.fail(str(error))

    def _const(self, const: Const) -> DType:
        value, dtype = const.value, const.dtype
        if dtype.is_stored_float:
            self.fail(f"there are no constants of {dtype}")
        allowed = _HELD_AS[dtype.kind]
        if type(value) is not allowed:
            self.fail(f"a constant of {dtype} holds {type(value).__name__} {value!r}")
        try:
            rounded = represented(value, dtype)
        except IRError as error:
            self.fail(str(error))
        if rounded != value and value == value:
            self.fail(f"{value!r} is no {dtype}: {rounded!r} is")
        return dtype
