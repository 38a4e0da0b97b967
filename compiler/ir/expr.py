"""Expressions: values without side effects.

Python's operators, `binary` and `unary` below and the functions of `ops` build expressions and
check types; the classes check nothing. Expressions are frozen and compare by structure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, Union, cast

import numpy as np

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, INDEX, DType, Kind
from tandem.compiler.ir.operations import BinaryOp, UnaryOp


class ExprFacts(NamedTuple):
    """Height, variables and loaded buffers of an expression (`facts.expr_facts`).

    Attributes
    ----------
    height
        The depth of the tree, 1 for a constant.
    variables
        The names of its variables.
    loads
        The buffers that it reads, by name.
    """

    height: int
    variables: frozenset[str]
    loads: Mapping[str, Buffer]


def _infix(op: BinaryOp) -> Callable[[ExprOperators, ExprLike], Expr]:
    return lambda left, right: binary(op, left, right)


def _swapped(op: BinaryOp) -> Callable[[ExprOperators, ExprLike], Expr]:
    """The reflected operator: the method's own expression is the right operand."""
    return lambda right, left: binary(op, left, right)


def _prefix(op: UnaryOp) -> Callable[[ExprOperators], Expr]:
    return lambda value: unary(op, value)


class ExprOperators:
    """Python's operators on expressions. `==` compares structure: see `ops.equal`.

    Attributes
    ----------
    facts
        The cached result of `facts.expr_facts`.
    verified_dtype
        The type that the verifier found, valid wherever its variables and buffers are the same.
    normal_for
        The variables' ranges for which `normal` last found the expression in normal form, and its
        affine sum if the expression is an index.

    These caches are not part of the value: equality, hashes and pickles leave them out.
    """

    __slots__ = ("facts", "normal_for", "verified_dtype")

    facts: ExprFacts
    verified_dtype: DType
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
class Const(ExprOperators):
    """A constant. `value` is an int, a float (rounded to the type) or a bool.

    Constants are equal if they print the same: 0.0 is not -0.0, and a NaN equals itself.
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
        # Equal programs must have equal results, and 1 / 0.0 is not 1 / -0.0.
        return self.value.hex() if isinstance(self.value, float) else self.value


@dataclass(frozen=True, slots=True)
class Var(ExprOperators):
    """The variable of a loop or of a block's axis, identified by its name."""

    name: str
    dtype: DType = INDEX

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class Load(ExprOperators):
    """The element of `buffer` at `indices`, one index for each dimension."""

    buffer: Buffer
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> DType:
        """The buffer's type."""
        return self.buffer.dtype


@dataclass(frozen=True, slots=True)
class Unary(ExprOperators):
    """`op` of a value."""

    op: UnaryOp
    operand: Expr

    @property
    def dtype(self) -> DType:
        """The operand's type."""
        return self.operand.dtype


@dataclass(frozen=True, slots=True)
class Binary(ExprOperators):
    """`op` of two values of one type."""

    op: BinaryOp
    left: Expr
    right: Expr

    @property
    def dtype(self) -> DType:
        """The operands' type, or bool for a comparison."""
        return BOOL if self.op.compares else self.left.dtype


@dataclass(frozen=True, slots=True)
class Cast(ExprOperators):
    """A value in another type.

    Integers wrap; floats are truncated and saturate when cast to an integer, and NaN becomes 0;
    anything but zero becomes true.
    """

    operand: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Reinterpret(ExprOperators):
    """The value of another type of the same width that has the same bits."""

    operand: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Select(ExprOperators):
    """`then` if the condition holds, else `otherwise`; only one of the two is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr

    @property
    def dtype(self) -> DType:
        """The type of both values."""
        return self.then.dtype


Expr: TypeAlias = Union[Const, Var, Load, Unary, Binary, Cast, Reinterpret, Select]  # noqa: UP007
ExprLike: TypeAlias = Union["ExprOperators", int, float, bool]
"""An operand of Python's operators: a number takes the type of the other operand."""


_FLOATS_ONLY = (BinaryOp.DIV, BinaryOp.POW)
_INTEGERS_ONLY = (BinaryOp.FLOORDIV, BinaryOp.MOD, BinaryOp.SHL, BinaryOp.SHR)
_BITS = (BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)


def constant(value: int | float | bool, dtype: DType) -> Const:
    """Return a number as a constant of a type; IRError if it is not representable."""
    return Const(represented(value, dtype), dtype)


def represented(value: int | float | bool, dtype: DType) -> int | float | bool:
    """Return a number as a constant of a type stores it; IRError if it is not representable."""
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
        case Kind.FLOAT16 | Kind.BFLOAT16 | Kind.FLOAT4:
            raise IRError(f"there are no constants of {dtype}, in which floats are only stored")


def _rounded(value: int | float | bool, dtype: DType) -> float:
    try:
        with np.errstate(over="ignore"):
            result = float(np.dtype(str(dtype)).type(value))
    except OverflowError:
        result = math.inf
    if math.isinf(result) and abs(value) != math.inf:
        raise IRError(f"{value!r} is no {dtype}: its magnitude is too large")
    # One NaN object: a NaN equals nothing, but nodes that hold the same object are equal.
    return math.nan if math.isnan(result) else result


def operand(value: ExprLike, dtype: DType) -> Expr:
    """Return an operand as an expression of a type; IRError if it has another type."""
    if not isinstance(value, ExprOperators):
        return constant(value, dtype)
    expr = cast(Expr, value)
    _same(dtype, expr.dtype)
    return expr


def _same(expected: DType, found: DType) -> None:
    # The types are nearly always the same object; this runs for every node.
    if found is not expected and found != expected:
        raise IRError(f"{expected} is expected here, not {found}: cast() converts")


def common_dtype(what: str, left: ExprLike, right: ExprLike) -> DType:
    """The type of two operands of `what`; a Python number takes the type of the other operand."""
    for value in (left, right):
        if isinstance(value, ExprOperators):
            return cast(Expr, value).dtype
    raise IRError(f"{what} of two plain numbers, which have no type")


def binary(op: BinaryOp, left: ExprLike, right: ExprLike) -> Expr:
    """Return `op` of two values of one type; a Python number takes the other operand's type."""
    dtype = common_dtype(op.value, left, right)
    a, b = operand(left, dtype), operand(right, dtype)
    binary_dtype(op, dtype, dtype)
    return Binary(op, a, b)


def binary_dtype(op: BinaryOp, left: DType, right: DType) -> DType:
    """The result type of `op` for operands of these types.

    Raises
    ------
    IRError
        If the types differ, or `op` is not defined for them.
    """
    _same(left, right)
    dtype = left
    allowed = not dtype.is_stored_float and (
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


def unary(op: UnaryOp, value: ExprOperators) -> Expr:
    """Return `op` of a value."""
    expr = cast(Expr, value)
    unary_dtype(op, expr.dtype)
    return Unary(op, expr)


def check_cast(source: DType, target: DType) -> None:
    """Raise an `IRError` unless values of one type can be cast to the other."""
    if source.is_stored_float or target.is_stored_float:
        raise IRError(f"no cast is defined from {source} to {target}")


def check_reinterpret(source: DType, target: DType) -> None:
    """Raise an `IRError` unless the types have equally many bits, and at least 2."""
    if source.bits != target.bits or source.bits < 2:
        raise IRError(f"the bits of {source} are none of {target}")


def unary_dtype(op: UnaryOp, dtype: DType) -> DType:
    """The result type of `op` for an operand of this type; IRError if `op` is undefined for it."""
    match op:
        case UnaryOp.NOT:
            allowed = dtype.is_integer or dtype == BOOL
        case UnaryOp.NEG | UnaryOp.ABS:
            allowed = dtype.is_integer or dtype.is_float
        case _:
            allowed = dtype.is_float
    if not allowed:
        raise IRError(f"{op.value} is not defined for {dtype}")
    return dtype
