"""Values of compiled code, and the LLVM instructions of Python's operators on them.

Integers have 64 bits and wrap. Division is Python's, towards minus infinity; by zero it gives zero,
and raises nothing. Indices and slices are not checked.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tandem.base.jit.errors import CompilationError
from tandem.base.jit.types import BOOL, ELEMENTS, FLOAT, INT, NONE, Array, Record, Scalar, Type
from tandem.base.jit.writer import Writer


@dataclass(frozen=True, slots=True)
class Value:
    """A value: its type, and the names or constants of its leaves."""

    type: Type
    leaves: tuple[str, ...]

    @property
    def number(self) -> int | None:
        """The value of a constant integer, or None."""
        if self.type is not INT or self.leaves[0].startswith("%"):
            return None
        return int(self.leaves[0])

    @property
    def leaf(self) -> str:
        """The only leaf of a number."""
        return self.leaves[0]

    def fields(self) -> tuple[Value, ...]:
        """The fields of a tuple."""
        assert isinstance(self.type, Record)
        found, at = [], 0
        for kind in self.type.fields:
            size = _size(kind)
            found.append(Value(kind, self.leaves[at : at + size]))
            at += size
        return tuple(found)


def _size(kind: Type) -> int:
    match kind:
        case Scalar():
            return 1
        case Array():
            return 1 + kind.dimensions
        case Record():
            return sum(map(_size, kind.fields))


def integer(value: int) -> Value:
    """A constant."""
    if not -(1 << 63) <= value < 1 << 63:
        raise CompilationError(f"{value} has more than 64 bits")
    return Value(INT, (str(value),))


TRUE, FALSE = Value(BOOL, ("true",)), Value(BOOL, ("false",))
NOTHING = Value(NONE, ())


def boolean(value: bool) -> Value:
    """A constant."""
    return TRUE if value else FALSE


def floating(value: float) -> Value:
    """A constant."""
    # Hexadecimal, as LLVM takes decimal fractions only where they are exact.
    return Value(FLOAT, (f"0x{_bits(value):016X}",))


def _bits(value: float) -> int:
    return struct.unpack("Q", struct.pack("d", value))[0]


def record(values: Sequence[Value]) -> Value:
    """A tuple."""
    return Value(
        Record(tuple(value.type for value in values)),
        tuple(leaf for value in values for leaf in value.leaves),
    )


def converted(writer: Writer, value: Value, kind: Type) -> Value:
    """`value` as a `kind`: bool becomes int, and both become float."""
    if value.type == kind:
        return value
    match value.type, kind:
        case Scalar(), Scalar() if kind is INT and value.type is BOOL:
            if value in (TRUE, FALSE):
                return integer(int(value is TRUE or value == TRUE))
            return Value(INT, (writer.emit(f"zext i1 {value.leaf} to i64"),))
        case Scalar(), Scalar() if kind is FLOAT:
            if (number := value.number) is not None:
                return floating(float(number))
            whole = converted(writer, value, INT).leaf
            return Value(FLOAT, (writer.emit(f"sitofp i64 {whole} to double"),))
        case Record(), Record() if len(value.type.fields) == len(kind.fields):
            fields = zip(value.fields(), kind.fields, strict=True)
            leaves = [leaf for each, to in fields for leaf in converted(writer, each, to).leaves]
            return Value(kind, tuple(leaves))
    raise CompilationError(f"a value of type {shown(value.type)} cannot become {shown(kind)}")


def shown(kind: Type) -> str:
    """The name of a type, for messages."""
    match kind:
        case Scalar():
            return kind.name
        case Array():
            return f"array of {kind.element} with {kind.dimensions} dimensions"
        case Record():
            return f"tuple of {len(kind.fields)}" if kind.fields else "None"


def common(*values: Value) -> Type:
    """The type that all `values` can become."""
    kinds = {value.type for value in values}
    if len(kinds) == 1:
        return kinds.pop()
    for kind in (FLOAT, INT, BOOL):
        if kind in kinds and kinds <= {FLOAT, INT, BOOL}:
            return kind
    return values[0].type


def truth(writer: Writer, value: Value) -> Value:
    """Whether `value` is true."""
    match value.type:
        case Record():
            return boolean(bool(value.type.fields))
        case Scalar() if value.type is BOOL:
            return value
        case Scalar() if value.type is FLOAT:
            return Value(BOOL, (writer.emit(f"fcmp une double {value.leaf}, 0.0"),))
        case Scalar():
            if (number := value.number) is not None:
                return boolean(number != 0)
            return Value(BOOL, (writer.emit(f"icmp ne i64 {value.leaf}, 0"),))
    raise CompilationError("an array is neither true nor false")


def negation(writer: Writer, value: Value) -> Value:
    """`not value`."""
    told = truth(writer, value)
    if told in (TRUE, FALSE):
        return boolean(told == FALSE)
    return Value(BOOL, (writer.emit(f"xor i1 {told.leaf}, true"),))


_INTEGER: dict[type[ast.operator], tuple[str, Callable[[int, int], int]]] = {
    ast.Add: ("add", lambda a, b: a + b),
    ast.Sub: ("sub", lambda a, b: a - b),
    ast.Mult: ("mul", lambda a, b: a * b),
    ast.LShift: ("shl", lambda a, b: a << b),
    ast.RShift: ("ashr", lambda a, b: a >> b),
    ast.BitAnd: ("and", lambda a, b: a & b),
    ast.BitOr: ("or", lambda a, b: a | b),
    ast.BitXor: ("xor", lambda a, b: a ^ b),
}
_FLOATING = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_LOGICAL = (ast.BitAnd, ast.BitOr, ast.BitXor)


def binary(writer: Writer, operator: ast.operator, a: Value, b: Value) -> Value:
    """`a operator b`."""
    kind, name = common(a, b), type(operator)
    if kind is BOOL and name in _LOGICAL:
        return Value(BOOL, (writer.emit(f"{_INTEGER[name][0]} i1 {a.leaf}, {b.leaf}"),))
    if kind is FLOAT or (name is ast.Div and isinstance(kind, Scalar)):
        if name not in _FLOATING:
            raise CompilationError(f"no {name.__name__} of floating-point numbers")
        one, other = (converted(writer, value, FLOAT).leaf for value in (a, b))
        return Value(FLOAT, (writer.emit(f"{_FLOATING[name]} double {one}, {other}"),))
    if not isinstance(kind, Scalar):
        raise CompilationError(f"no {name.__name__} of {shown(a.type)} and {shown(b.type)}")
    a, b = (converted(writer, value, INT) for value in (a, b))
    if name in (ast.FloorDiv, ast.Mod):
        return divided(writer, a, b)[name is ast.Mod]
    if name not in _INTEGER:
        raise CompilationError(f"no {name.__name__} of integers")
    instruction, meaning = _INTEGER[name]
    if a.number is not None and b.number is not None:
        return integer(meaning(a.number, b.number))
    return Value(INT, (writer.emit(f"{instruction} i64 {a.leaf}, {b.leaf}"),))


def divided(writer: Writer, a: Value, b: Value) -> tuple[Value, Value]:
    """The quotient and the remainder of integers."""
    one, other, number = a.leaf, b.leaf, b.number

    def emit(instruction: str) -> str:
        return writer.emit(instruction)

    if number is not None and number > 0 and number & (number - 1) == 0:
        quotient = emit(f"ashr i64 {one}, {number.bit_length() - 1}")
        return Value(INT, (quotient,)), Value(INT, (emit(f"and i64 {one}, {number - 1}"),))
    # The processor divides neither by zero nor the least integer by -1: by 1 instead.
    zero, minus = emit(f"icmp eq i64 {other}, 0"), emit(f"icmp eq i64 {other}, -1")
    odd = emit(f"or i1 {zero}, {minus}")
    by = emit(f"select i1 {odd}, i64 1, i64 {other}")
    quotient, rest = emit(f"sdiv i64 {one}, {by}"), emit(f"srem i64 {one}, {by}")
    # LLVM rounds towards zero.
    signs = emit(f"icmp slt i64 {emit(f'xor i64 {rest}, {by}')}, 0")
    low = emit(f"and i1 {signs}, {emit(f'icmp ne i64 {rest}, 0')}")
    lower, upper = emit(f"sub i64 {quotient}, 1"), emit(f"add i64 {rest}, {by}")
    quotient = emit(f"select i1 {low}, i64 {lower}, i64 {quotient}")
    rest = emit(f"select i1 {low}, i64 {upper}, i64 {rest}")
    quotient = emit(f"select i1 {minus}, i64 {emit(f'sub i64 0, {one}')}, i64 {quotient}")
    quotient = emit(f"select i1 {zero}, i64 0, i64 {quotient}")
    return Value(INT, (quotient,)), Value(INT, (rest,))


_COMPARISONS = {
    ast.Eq: ("eq", "oeq"),
    ast.NotEq: ("ne", "une"),
    ast.Lt: ("slt", "olt"),
    ast.LtE: ("sle", "ole"),
    ast.Gt: ("sgt", "ogt"),
    ast.GtE: ("sge", "oge"),
}


def compared(writer: Writer, operator: ast.cmpop, a: Value, b: Value) -> Value:
    """`a operator b`."""
    name = type(operator)
    if name in (ast.Is, ast.IsNot):
        if NONE not in (a.type, b.type):
            raise CompilationError("`is` compares with None alone")
        return boolean((a.type == b.type) is (name is ast.Is))
    kind = common(a, b)
    if name not in _COMPARISONS or not isinstance(kind, Scalar):
        raise CompilationError(f"no {name.__name__} of {shown(a.type)} and {shown(b.type)}")
    whole, real = _COMPARISONS[name]
    if kind is BOOL:
        kind = INT
    one, other = (converted(writer, value, kind).leaf for value in (a, b))
    if kind is FLOAT:
        return Value(BOOL, (writer.emit(f"fcmp {real} double {one}, {other}"),))
    return Value(BOOL, (writer.emit(f"icmp {whole} i64 {one}, {other}"),))


def chosen(writer: Writer, condition: Value, a: Value, b: Value) -> Value:
    """`a` if `condition`, else `b`: numbers of one type."""
    assert isinstance(a.type, Scalar)
    if condition in (TRUE, FALSE):
        return a if condition == TRUE else b
    llvm = a.type.llvm
    picked = f"select i1 {condition.leaf}, {llvm} {a.leaf}, {llvm} {b.leaf}"
    return Value(a.type, (writer.emit(picked),))


def extreme(writer: Writer, operator: ast.cmpop, values: Sequence[Value]) -> Value:
    """The least of numbers, with `<`, or the greatest, with `>`."""
    kind = common(*values)
    if not isinstance(kind, Scalar):
        raise CompilationError("min and max take numbers")
    best, *others = (converted(writer, value, kind) for value in values)
    for value in others:
        best = chosen(writer, compared(writer, operator, value, best), value, best)
    return best


def length(array: Value) -> Value:
    """`len(array)`, of a tuple too."""
    match array.type:
        case Array():
            return Value(INT, (array.leaves[1],))
        case Record():
            return integer(len(array.type.fields))
    raise CompilationError(f"{shown(array.type)} has no length")


def _bound(writer: Writer, index: Value, size: str) -> str:
    """An index or a bound of a slice: a negative constant counts from the end."""
    index = converted(writer, index, INT)
    if index.number is not None and index.number < 0:
        return writer.emit(f"add i64 {size}, {index.leaf}")
    return index.leaf


def indexed(writer: Writer, array: Value, indices: Sequence[Value | slice]) -> Value:
    """The part of an array at `indices`, of which the last may be a slice of two bounds.

    The part of all dimensions is an array without dimensions: its pointer is the element's.
    """
    kind = array.type
    if not isinstance(kind, Array) or len(indices) > kind.dimensions:
        raise CompilationError(f"{shown(kind)} has no part at {len(indices)} indices")
    pointer, *shape = array.leaves
    llvm = ELEMENTS[kind.element].llvm
    offset = "0"
    for at, index in enumerate(indices):
        size = shape[at]
        if isinstance(index, slice):
            if at + 1 < len(indices):
                raise CompilationError("an index follows a slice: the part is not dense")
            begin = "0" if index.start is None else _bound(writer, index.start, size)
            end = size if index.stop is None else _bound(writer, index.stop, size)
            shape[at] = writer.emit(f"sub i64 {end}, {begin}")
            rest = shape[at:]
        else:
            begin, rest = _bound(writer, index, size), shape[at + 1 :]
        offset = begin if offset == "0" else writer.emit(f"add nsw i64 {offset}, {begin}")
        if at + 1 < kind.dimensions and offset != "0":
            offset = writer.emit(f"mul nsw i64 {offset}, {shape[at + 1]}")
    for size in shape[len(indices) + 1 :]:
        offset = writer.emit(f"mul nsw i64 {offset}, {size}")
    address = writer.emit(f"getelementptr inbounds {llvm}, ptr {pointer}, i64 {offset}")
    return Value(Array(kind.element, len(rest)), (address, *rest))


def loaded(writer: Writer, place: Value) -> Value:
    """The number at `place`, an array without dimensions; any other array as it is."""
    kind = place.type
    if not isinstance(kind, Array) or kind.dimensions:
        return place
    element = ELEMENTS[kind.element]
    found = writer.emit(f"load {element.llvm}, ptr {place.leaves[0]}")
    if element.loaded is BOOL:
        found = writer.emit(f"icmp ne i8 {found}, 0")
    elif element.extend:
        found = writer.emit(f"{element.extend} {element.llvm} {found} to i64")
    return Value(element.loaded, (found,))


def store(writer: Writer, place: Value, value: Value) -> None:
    """Store a number at `place`, an array without dimensions: the low bits of an integer."""
    kind = place.type
    if not isinstance(kind, Array) or kind.dimensions:
        raise CompilationError("a number is stored to a number's place")
    element = ELEMENTS[kind.element]
    if element.loaded is BOOL:
        bits = writer.emit(f"zext i1 {truth(writer, value).leaf} to i8")
    else:
        bits = converted(writer, value, element.loaded).leaf
        if element.extend:
            bits = writer.emit(f"trunc i64 {bits} to {element.llvm}")
    writer.do(f"store {element.llvm} {bits}, ptr {place.leaves[0]}")


Builtin = Callable[[Writer, Sequence[Value]], Value]


def _int(writer: Writer, arguments: Sequence[Value]) -> Value:
    (value,) = arguments
    if value.type is FLOAT:
        return Value(INT, (writer.emit(f"fptosi double {value.leaf} to i64"),))
    return converted(writer, value, INT)


def _abs(writer: Writer, arguments: Sequence[Value]) -> Value:
    (value,) = arguments
    if value.type is not FLOAT:
        value = converted(writer, value, INT)
    zero = converted(writer, integer(0), value.type)
    less = compared(writer, ast.Lt(), value, zero)
    return chosen(writer, less, binary(writer, ast.Sub(), zero, value), value)


def _divmod(writer: Writer, arguments: Sequence[Value]) -> Value:
    a, b = (converted(writer, value, INT) for value in arguments)
    return record(divided(writer, a, b))


@cache
def builtins() -> dict[Any, Builtin]:
    """The functions of Python and NumPy that compiled code has, of numbers."""

    def least(writer: Writer, arguments: Sequence[Value]) -> Value:
        return extreme(writer, ast.Lt(), arguments)

    def greatest(writer: Writer, arguments: Sequence[Value]) -> Value:
        return extreme(writer, ast.Gt(), arguments)

    return {
        abs: _abs,
        bool: lambda writer, arguments: truth(writer, *arguments),
        divmod: _divmod,
        float: lambda writer, arguments: converted(writer, arguments[0], FLOAT),
        int: _int,
        len: lambda writer, arguments: length(*arguments),
        max: greatest,
        min: least,
        np.maximum: greatest,
        np.minimum: least,
    }
