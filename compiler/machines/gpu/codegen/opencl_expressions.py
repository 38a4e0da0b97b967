"""Expressions of the loop language in OpenCL C, with the same bits for every operand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import BOOL, INDEX, DType, Kind
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Reinterpret,
    Select,
    Unary,
    Var,
)
from tandem.compiler.ir.facts import expr_facts
from tandem.compiler.ir.interval import Ranges, interval
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.visit import subexpressions
from tandem.compiler.machines.gpu.codegen.opencl_functions import Functions
from tandem.compiler.machines.gpu.codegen.opencl_types import (
    c_type,
    number,
    unsigned_type,
    wrapped,
)

_LOOKUPS = {UnaryOp.ABS: "fabs", UnaryOp.ROUND: "rint"}
"""Functions of floats that have another name in OpenCL."""
_WRAPPING = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL)
_BITWISE = (BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)
_INDEX_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True)
class Expressions:
    """Writes expressions.

    Attributes
    ----------
    names
        The names of variables and buffers in the text.
    index
        The C type of indices: `int`, or `long` where they do not fit.
    functions
        What is called is added to these.
    """

    names: Mapping[str, str]
    index: str
    functions: Functions

    def text(self, expr: Expr, ranges: Ranges) -> str:
        """An expression, with the type of its value; in parentheses where it needs them."""
        if is_index(expr):
            return self._index(expr, ranges)
        match expr:
            case Const():
                return number(expr)
            case Var():
                return f"((long){self.names[expr.name]})"
            case Load(buffer=buffer, indices=indices):
                return self._load(buffer, indices, ranges)
            case Unary(op=op, operand=operand):
                return self._unary(op, operand.dtype, self.text(operand, ranges))
            case Binary():
                return self._binary(expr, ranges)
            case Cast(operand=operand, dtype=dtype):
                return self._cast(self._typed(operand, ranges), operand.dtype, dtype)
            case Reinterpret(operand=operand, dtype=dtype):
                return self._reinterpret(self._typed(operand, ranges), operand.dtype, dtype)
            case Select():
                condition = self.text(expr.condition, ranges)
                then = self._typed(expr.then, ranges)
                otherwise = self._typed(expr.otherwise, ranges)
                return f"({condition} ? {then} : {otherwise})"
            case _:
                assert_never(expr)

    def _typed(self, expr: Expr, ranges: Ranges) -> str:
        """An expression whose text has the C type of its own type, and not that of indices."""
        text = self.text(expr, ranges)
        return f"((long){text})" if is_index(expr) and self.index != "long" else text

    def element(self, buffer: Buffer, indices: tuple[Expr, ...], ranges: Ranges) -> str:
        """An element of memory."""
        terms = []
        for index, stride in zip(indices, buffer.strides, strict=True):
            text = self._number(index, ranges)
            if text != "0":
                terms.append(text if stride == 1 else f"{text} * {stride}")
        return f"{self.names[buffer.name]}[{' + '.join(terms) or '0'}]"

    def _number(self, index: Expr, ranges: Ranges) -> str:
        """An index, in the type of indices."""
        text = self.text(index, ranges)
        return text if is_index(index) else f"({self.index}){text}"

    def _load(self, buffer: Buffer, indices: tuple[Expr, ...], ranges: Ranges) -> str:
        found = self.element(buffer, indices, ranges)
        # The other bits of an element of few bits mean nothing.
        return wrapped(found, buffer.dtype.holder) if buffer.dtype.is_narrow else found

    def _index(self, expr: Expr, ranges: Ranges) -> str:
        """An expression of loops' variables alone, none of which overflows."""
        match expr:
            case Const(value=value):
                return str(value) if value >= 0 else f"({value})"
            case Var(name=name):
                return self.names[name]
            case Unary(operand=operand):
                return f"(-{self._index(operand, ranges)})"
            case Select():
                condition = self.text(expr.condition, ranges)
                then = self._index(expr.then, ranges)
                otherwise = self._index(expr.otherwise, ranges)
                return f"({condition} ? {then} : {otherwise})"
            case Binary(op=op, left=left, right=right):
                a, b = self._index(left, ranges), self._index(right, ranges)
                if op in _WRAPPING:
                    return f"({a} {op.value} {b})"
                if op in (BinaryOp.MIN, BinaryOp.MAX):
                    return f"{op.value}(({self.index}){a}, ({self.index}){b})"
                low, divisor = interval(left, ranges).low, interval(right, ranges).low
                if low is not None and low >= 0 and divisor is not None and divisor > 0:
                    return f"({a} {'/' if op is BinaryOp.FLOORDIV else '%'} {b})"
                return f"({self.index}){self.functions.division(op, INDEX)}({a}, {b})"
            case _:
                raise AssertionError("`is_index` has looked at it")

    def _unary(self, op: UnaryOp, dtype: DType, a: str) -> str:
        if dtype == BOOL:
            return f"(!{a})"
        if not dtype.is_integer:
            if op is UnaryOp.NEG:
                return f"(-{a})"
            return f"{_LOOKUPS.get(op, op.value)}({a})"
        wide = unsigned_type(dtype)
        match op:
            case UnaryOp.NEG:
                return wrapped(f"0 - ({wide}){a}", dtype)
            case UnaryOp.NOT:
                return wrapped(f"~({wide}){a}", dtype)
            case UnaryOp.ABS:
                return wrapped(f"abs(({c_type(dtype)}){a})", dtype)
            case _:
                raise CodegenError(f"{op.value} is not defined for {dtype}")

    def _binary(self, expr: Binary, ranges: Ranges) -> str:
        op, dtype = expr.op, expr.left.dtype
        if op.compares:
            both = is_index(expr.left) and is_index(expr.right)
            read = self._index if both else self._typed
            return f"({read(expr.left, ranges)} {op.value} {read(expr.right, ranges)})"
        a, b = self._typed(expr.left, ranges), self._typed(expr.right, ranges)
        if dtype == BOOL:
            signs = {BinaryOp.MIN: "&", BinaryOp.MAX: "|"}
            # What the right one reads may lie outside a buffer where the left one does not hold.
            return f"({a} {signs.get(op, op.value)} {b})"
        if dtype.is_float:
            if op is BinaryOp.POW:
                return f"pow({a}, {b})"
            if op in (BinaryOp.MIN, BinaryOp.MAX):
                return f"{self.functions.extreme(op, dtype)}({a}, {b})"
            return f"({a} {op.value} {b})"
        kind, wide = c_type(dtype), unsigned_type(dtype)
        if op in _WRAPPING:
            return wrapped(f"({wide}){a} {op.value} ({wide}){b}", dtype)
        if op in _BITWISE:
            return wrapped(f"{a} {op.value} {b}", dtype)
        match op:
            case BinaryOp.MIN | BinaryOp.MAX:
                return f"{op.value}(({kind}){a}, ({kind}){b})"
            case BinaryOp.FLOORDIV | BinaryOp.MOD:
                return wrapped(f"{self.functions.division(op, dtype)}({a}, {b})", dtype)
            case BinaryOp.SHL | BinaryOp.SHR:
                return f"{self.functions.shift(op, dtype)}({a}, {b})"
            case _:
                raise CodegenError(f"{op.value} is not defined for {dtype}")

    def _cast(self, a: str, old: DType, new: DType) -> str:
        if new == BOOL:
            return f"({a} != 0)"
        if new.is_float:
            return f"(({c_type(new)}){a})"
        if old.is_float:
            return f"{self.functions.truncation(old, new)}({a})"
        return wrapped(a, new)

    def _reinterpret(self, a: str, old: DType, new: DType) -> str:
        if old.is_float or new.is_float:
            return f"as_{c_type(new.holder)}(({c_type(old.holder)}){a})"
        return wrapped(a, new.holder)


_OF_INDICES = (*_WRAPPING, BinaryOp.MIN, BinaryOp.MAX, BinaryOp.FLOORDIV, BinaryOp.MOD)


def is_index(expr: Expr) -> bool:
    """Whether an expression is arithmetic on loops' variables and constants alone."""
    if expr.dtype != INDEX or expr_facts(expr).loads:
        return False
    match expr:
        case Const() | Var():
            return True
        case Unary(op=UnaryOp.NEG, operand=operand):
            return is_index(operand)
        case Binary(op=op, left=left, right=right) if op in _OF_INDICES:
            return is_index(left) and is_index(right)
        case Select(then=then, otherwise=otherwise):
            return is_index(then) and is_index(otherwise)
        case _:
            return False


def fits_int(expr: Expr, ranges: Ranges) -> bool:
    """Whether all arithmetic on indices in an expression stays within 32 bits."""
    for part in subexpressions(expr):
        if part.dtype == INDEX and is_index(part):
            found = interval(part, ranges)
            if found.low is None or found.high is None:
                return False
            if not -_INDEX_LIMIT <= found.low <= found.high < _INDEX_LIMIT:
                return False
        if isinstance(part, Load) and part.buffer.size >= _INDEX_LIMIT:
            return False
    return True


def is_double(dtype: DType) -> bool:
    """Whether a type is a float of 64 bits, which devices need not have."""
    return dtype.kind is Kind.FLOAT and dtype.bits == 64
