"""Expressions: values without effects.

Built with Python's operators, or with `binary` and `unary` below and the functions of `ops`, which
check types; the classes only hold. All are frozen and compare by structure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeAlias, Union, cast

import numpy as np

from compiler.errors import IRError
from compiler.ir.buffer import Buffer
from compiler.ir.dtypes import BOOL, INDEX, DType, Kind

__all__ = [
    "Binary",
    "BinaryOp",
    "Cast",
    "Const",
    "Expr",
    "ExprFacts",
    "Load",
    "Operand",
    "Operators",
    "Select",
    "Unary",
    "UnaryOp",
    "Var",
    "binary",
    "binary_dtype",
    "common_dtype",
    "constant",
    "held",
    "operand",
    "unary",
    "unary_dtype",
]


class BinaryOp(Enum):
    """Operations on two values of one type; the value is what the text form writes."""

    __hash__ = object.__hash__

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    """Of floats."""
    FLOORDIV = "//"
    """Of integers, towards minus infinity. Division by zero gives 0."""
    MOD = "%"
    """Of integers; has the sign of the divisor. Modulo zero gives 0."""
    POW = "pow"
    """Of floats."""
    MIN = "min"
    """A NaN on either side is the result."""
    MAX = "max"
    AND = "&"
    OR = "|"
    XOR = "^"
    SHL = "<<"
    """Of integers, by an amount read as unsigned; bits that leave are lost."""
    SHR = ">>"
    """Likewise; what comes in are copies of the sign of an `int`, and zeros in a `uint`."""
    LT = "<"
    LE = "<="
    EQ = "=="
    NE = "!="

    @property
    def compares(self) -> bool:
        """Gives a bool."""
        return self in (BinaryOp.LT, BinaryOp.LE, BinaryOp.EQ, BinaryOp.NE)


class UnaryOp(Enum):
    """Operations on one value."""

    __hash__ = object.__hash__

    NEG = "-"
    NOT = "~"
    """Of integers and bools."""
    ABS = "abs"
    EXP = "exp"
    """This and all below: of floats."""
    LOG = "log"
    SQRT = "sqrt"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    ERF = "erf"
    FLOOR = "floor"
    CEIL = "ceil"
    ROUND = "round"
    """To the nearest, halves to even."""


class ExprFacts(NamedTuple):
    """What an expression mentions (`facts.expr_facts`).

    Attributes
    ----------
    height
        Nodes under each other, 1 of a constant.
    variables
        Names.
    loads
        The buffers that are read, by name.
    """

    height: int
    variables: frozenset[str]
    loads: Mapping[str, Buffer]


def _infix(op: BinaryOp) -> Callable[[Operators, Operand], Expr]:
    return lambda left, right: binary(op, left, right)


def _swapped(op: BinaryOp) -> Callable[[Operators, Operand], Expr]:
    """The operator of the right operand: the method's own expression stands on the right."""
    return lambda right, left: binary(op, left, right)


def _prefix(op: UnaryOp) -> Callable[[Operators], Expr]:
    return lambda value: unary(op, value)


class Operators:
    """Python's operators on expressions. `==` compares structure: see `ops.equal`.

    Attributes
    ----------
    facts
        Computed once, when `facts.expr_facts` is first asked.
    type_found
        The type that the verifier found once: it is of that type wherever what it mentions is the
        same.
    normal_for
        The ranges of its variables for which `normal` last found it to be in normal form, and, of
        an index, the sum that it is.

    None is part of the value: equality, hashes and pickles leave them out.
    """

    __slots__ = ("facts", "normal_for", "type_found")

    facts: ExprFacts
    type_found: DType
    normal_for: tuple[Mapping[str, Any], Any]

    __add__ = _infix(BinaryOp.ADD)
    __radd__ = _swapped(BinaryOp.ADD)
    __sub__ = _infix(BinaryOp.SUB)
    __rsub__ = _swapped(BinaryOp.SUB)
    __mul__ = _infix(BinaryOp.MUL)
    __rmul__ = _swapped(BinaryOp.MUL)
    __truediv__ = _infix(BinaryOp.DIV)
    __rtruediv__ = _swapped(BinaryOp.DIV)
    __floordiv__ = _infix(BinaryOp.FLOORDIV)
    __mod__ = _infix(BinaryOp.MOD)
    __and__ = _infix(BinaryOp.AND)
    __or__ = _infix(BinaryOp.OR)
    __xor__ = _infix(BinaryOp.XOR)
    __lshift__ = _infix(BinaryOp.SHL)
    __rshift__ = _infix(BinaryOp.SHR)
    __lt__ = _infix(BinaryOp.LT)
    __le__ = _infix(BinaryOp.LE)
    __gt__ = _swapped(BinaryOp.LT)
    __ge__ = _swapped(BinaryOp.LE)
    __neg__ = _prefix(UnaryOp.NEG)
    __invert__ = _prefix(UnaryOp.NOT)

    def __bool__(self) -> bool:
        raise TypeError(
            "an expression has no truth value while the program is built: use select() and `&`"
        )


@dataclass(frozen=True, slots=True)
class Const(Operators):
    """A number. `value` is an int, a float (rounded to the type) or a bool.

    Floats are equal as constants if they are written alike: 0.0 is not -0.0, and a NaN is itself.
    """

    value: int | float | bool
    dtype: DType = INDEX

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const):
            return NotImplemented
        return self._digits == other._digits and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((self._digits, self.dtype))

    @property
    def _digits(self) -> int | str:
        # Equal programs must do the same: 1 / 0.0 and 1 / -0.0 do not.
        return self.value.hex() if isinstance(self.value, float) else self.value


@dataclass(frozen=True, slots=True)
class Var(Operators):
    """A loop's variable, or a block's: two of one name are the same."""

    name: str
    dtype: DType = INDEX

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class Load(Operators):
    """The element of `buffer` at `indices`, one for each dimension."""

    buffer: Buffer
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> DType:
        """The buffer's."""
        return self.buffer.dtype


@dataclass(frozen=True, slots=True)
class Unary(Operators):
    """`op` of a value."""

    op: UnaryOp
    operand: Expr

    @property
    def dtype(self) -> DType:
        """The operand's."""
        return self.operand.dtype


@dataclass(frozen=True, slots=True)
class Binary(Operators):
    """`op` of two values of one type."""

    op: BinaryOp
    left: Expr
    right: Expr

    @property
    def dtype(self) -> DType:
        """The operands', or bool of a comparison."""
        return BOOL if self.op.compares else self.left.dtype


@dataclass(frozen=True, slots=True)
class Cast(Operators):
    """A value in another type.

    Integers wrap; a float becomes an integer towards zero, the nearest where there is none, and 0
    if it is NaN; anything but zero becomes true.
    """

    operand: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Select(Operators):
    """`then` where the condition holds, else `otherwise`; the other one is not evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr

    @property
    def dtype(self) -> DType:
        """That of both."""
        return self.then.dtype


Expr: TypeAlias = Union[Const, Var, Load, Unary, Binary, Cast, Select]  # noqa: UP007
Operand: TypeAlias = Union["Operators", int, float, bool]
"""What Python's operators take beside an expression; numbers get the expression's type."""


_FLOATS_ONLY = (BinaryOp.DIV, BinaryOp.POW)
_INTEGERS_ONLY = (BinaryOp.FLOORDIV, BinaryOp.MOD, BinaryOp.SHL, BinaryOp.SHR)
_BITS = (BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)


def constant(value: int | float | bool, dtype: DType) -> Const:
    """A number of that type; refused if the type cannot hold it."""
    return Const(held(value, dtype), dtype)


def held(value: int | float | bool, dtype: DType) -> int | float | bool:
    """The number as a constant of that type holds it; refused if the type cannot."""
    match dtype.kind:
        case Kind.BOOL:
            if value not in (0, 1):
                raise IRError(f"{value!r} is no bool")
            return bool(value)
        case Kind.FLOAT:
            return _rounded(value, dtype)
        case Kind.INT | Kind.UINT:
            if not dtype.low <= value <= dtype.high or int(value) != value:
                raise IRError(f"{value!r} is no {dtype}: {dtype.low}..{dtype.high}")
            return int(value)


def _rounded(value: int | float | bool, dtype: DType) -> float:
    try:
        with np.errstate(over="ignore"):
            result = float(np.dtype(str(dtype)).type(value))
    except OverflowError:
        result = math.inf
    if math.isinf(result) and abs(value) != math.inf:
        raise IRError(f"{value!r} is no {dtype}: its magnitude is too large")
    # One NaN for all: a NaN equals nothing, but a node that holds the same object equals this one.
    return math.nan if math.isnan(result) else result


def operand(value: Operand, dtype: DType) -> Expr:
    """An expression of that type: a number becomes one, an expression must be one."""
    if not isinstance(value, Operators):
        return constant(value, dtype)
    expr = cast(Expr, value)
    _same(dtype, expr.dtype)
    return expr


def _same(expected: DType, found: DType) -> None:
    # Nearly always the same object: asked first, as this is asked of every node there is.
    if found is not expected and found != expected:
        raise IRError(f"{expected} is expected here, not {found}: cast() converts")


def common_dtype(what: str, left: Operand, right: Operand) -> DType:
    """The type of two operands of `what`: a Python number takes the other's type."""
    for value in (left, right):
        if isinstance(value, Operators):
            return cast(Expr, value).dtype
    raise IRError(f"{what} of two plain numbers: neither says a type")


def binary(op: BinaryOp, left: Operand, right: Operand) -> Expr:
    """`op` of two values of one type; a Python number takes the other's type."""
    dtype = common_dtype(op.value, left, right)
    a, b = operand(left, dtype), operand(right, dtype)
    binary_dtype(op, dtype, dtype)
    return Binary(op, a, b)


def binary_dtype(op: BinaryOp, left: DType, right: DType) -> DType:
    """The type that `op` gives of values of these types.

    Raises
    ------
    IRError
        If the types differ, or `op` is not defined for them.
    """
    _same(left, right)
    dtype = left
    allowed = (
        dtype.is_float
        if op in _FLOATS_ONLY
        else dtype.is_integer
        if op in _INTEGERS_ONLY
        else not dtype.is_float
        if op in _BITS
        else dtype != BOOL or op.compares or op in (BinaryOp.MIN, BinaryOp.MAX)
    )
    if not allowed:
        raise IRError(f"{op.value} is not defined for {dtype}")
    return BOOL if op.compares else dtype


def unary(op: UnaryOp, value: Operators) -> Expr:
    """`op` of a value."""
    expr = cast(Expr, value)
    unary_dtype(op, expr.dtype)
    return Unary(op, expr)


def unary_dtype(op: UnaryOp, dtype: DType) -> DType:
    """The type that `op` gives of a value of this type; raises `IRError` if `op` is not defined."""
    match op:
        case UnaryOp.NOT:
            allowed = not dtype.is_float
        case UnaryOp.NEG | UnaryOp.ABS:
            allowed = dtype != BOOL
        case _:
            allowed = dtype.is_float
    if not allowed:
        raise IRError(f"{op.value} is not defined for {dtype}")
    return dtype
