"""The meaning of every operation for every type: the reference for all other implementations.

Values are Python's `int` and `bool`, and `numpy.float32` and `numpy.float64`. Floats overflow and
divide by zero as in IEEE 754; NumPy warns unless the caller disables that (`numpy.errstate`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, assert_never

import numpy as np

from tandem.compiler.errors import IRError
from tandem.compiler.ir.dtypes import DType, Kind
from tandem.compiler.ir.expr import Const, constant
from tandem.compiler.ir.operations import BinaryOp, UnaryOp

_ANY_TYPE: dict[BinaryOp, Callable[[Any, Any], Any]] = {
    BinaryOp.AND: operator.and_,
    BinaryOp.OR: operator.or_,
    BinaryOp.XOR: operator.xor,
    # Comparisons of NumPy's floats give NumPy's bools, on which `~` and `&` mean something else.
    BinaryOp.LT: lambda a, b: bool(a < b),
    BinaryOp.LE: lambda a, b: bool(a <= b),
    BinaryOp.EQ: lambda a, b: bool(a == b),
    BinaryOp.NE: lambda a, b: bool(a != b),
    # A NaN on the right makes the comparison false.
    BinaryOp.MIN: lambda a, b: a if a < b or a != a else b,
    BinaryOp.MAX: lambda a, b: a if a > b or a != a else b,
}

_FLOATS: dict[BinaryOp, Callable[[Any, Any], Any]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.DIV: operator.truediv,
    # Computed in float64 and rounded once: closer than a float32 function.
    BinaryOp.POW: lambda a, b: type(a)(np.float64(a) ** np.float64(b)),
}

_ELEMENTARY: dict[UnaryOp, Callable[[Any], Any]] = {
    UnaryOp.EXP: np.exp,
    UnaryOp.LOG: np.log,
    UnaryOp.SQRT: np.sqrt,
    UnaryOp.SIN: np.sin,
    UnaryOp.COS: np.cos,
    UnaryOp.TAN: np.tan,
    UnaryOp.ASIN: np.arcsin,
    UnaryOp.ACOS: np.arccos,
    UnaryOp.ATAN: np.arctan,
    UnaryOp.SINH: np.sinh,
    UnaryOp.COSH: np.cosh,
    UnaryOp.TANH: np.tanh,
    UnaryOp.ERF: math.erf,
    UnaryOp.FLOOR: np.floor,
    UnaryOp.CEIL: np.ceil,
    UnaryOp.ROUND: np.rint,
}


def value_of(const: Const) -> Any:
    """The value of a constant: an int, a bool, or a NumPy float of its type."""
    return const.dtype.numpy.type(const.value) if const.dtype.is_float else const.value


def neutral(op: BinaryOp, dtype: DType) -> Const:
    """The identity element of `op` for a type: `op` of it and any value is that value (-0.0 for ADD
    of floats). KeyError unless `op` is a sum, product, minimum, maximum or logic of the type."""
    numbers: dict[BinaryOp, int | float]
    if dtype.is_float:
        numbers = {
            BinaryOp.ADD: -0.0,
            BinaryOp.MUL: 1.0,
            BinaryOp.MIN: math.inf,
            BinaryOp.MAX: -math.inf,
        }
    else:
        numbers = {
            BinaryOp.ADD: 0,
            BinaryOp.MUL: 1,
            BinaryOp.MIN: dtype.high,
            BinaryOp.MAX: dtype.low,
            BinaryOp.AND: -1 if dtype.kind is Kind.INT else dtype.high,
            BinaryOp.OR: 0,
            BinaryOp.XOR: 0,
        }
    return constant(numbers[op], dtype)


def binary_function(op: BinaryOp, dtype: DType) -> Callable[[Any, Any], Any]:
    """A function that computes `op` of two values of type `dtype`."""
    if op in _ANY_TYPE:
        return _ANY_TYPE[op]
    if dtype.is_float and op in _FLOATS:
        return _FLOATS[op]
    if dtype.is_integer:
        return _integer_binary(op, dtype)
    raise IRError(f"{op.value} is not defined for {dtype}")


def unary_function(op: UnaryOp, dtype: DType) -> Callable[[Any], Any]:
    """A function that computes `op` of a value of type `dtype`."""
    wrap = _wrapping(dtype) if dtype.is_integer else None
    match op:
        case UnaryOp.NOT if dtype.kind is Kind.BOOL:
            return operator.not_
        case UnaryOp.NOT if wrap:
            return lambda a: wrap(~a)
        case UnaryOp.NEG if wrap:
            return lambda a: wrap(-a)
        case UnaryOp.ABS if wrap:
            return lambda a: wrap(abs(a))
        case UnaryOp.NEG if dtype.is_float:
            return operator.neg
        case UnaryOp.ABS if dtype.is_float:
            return operator.abs
        case _ if op in _ELEMENTARY and dtype.is_float:
            # Computed in float64 and rounded once.
            function, kind = _ELEMENTARY[op], dtype.numpy.type
            return lambda a: kind(function(np.float64(a)))
        case _:
            raise IRError(f"{op.value} is not defined for {dtype}")


def cast_function(source: DType, target: DType) -> Callable[[Any], Any]:
    """A function that casts a value from type `source` to type `target`."""
    match target.kind:
        case Kind.BOOL:
            return lambda a: bool(a != 0)
        case Kind.FLOAT:
            kind = target.numpy.type
            match source.kind:
                case Kind.INT:
                    # Through a Python float a wide integer would be rounded twice.
                    return lambda a: np.int64(a).astype(kind)
                case Kind.UINT:
                    return lambda a: np.uint64(a).astype(kind)
                case Kind.BOOL | Kind.FLOAT:
                    return lambda a: kind(a)
                case Kind.FLOAT16 | Kind.BFLOAT16 | Kind.FLOAT4:
                    raise IRError(f"no cast is defined from {source} to {target}")
                case _:
                    assert_never(source.kind)
        case Kind.INT | Kind.UINT:
            if source.is_float:
                return _truncating(target)
            wrap = _wrapping(target)
            return lambda a: wrap(int(a))
        case Kind.FLOAT16 | Kind.BFLOAT16 | Kind.FLOAT4:
            raise IRError(f"no cast is defined from {source} to {target}")
        case _:
            assert_never(target.kind)


def reinterpret_function(source: DType, target: DType) -> Callable[[Any], Any]:
    """A function that returns the value of type `target` with the bits of one of type `source`."""
    # Floats that are only stored are held as their bits.
    old, new = source.holder.numpy, target.holder.numpy
    if target.is_float:
        return lambda a: old.type(a).view(new)
    return lambda a: old.type(a).view(new).item()


def _integer_binary(op: BinaryOp, dtype: DType) -> Callable[[Any, Any], Any]:
    wrap, bits, unsigned = _wrapping(dtype), dtype.bits, (1 << dtype.bits) - 1
    match op:
        case BinaryOp.ADD:
            return lambda a, b: wrap(a + b)
        case BinaryOp.SUB:
            return lambda a, b: wrap(a - b)
        case BinaryOp.MUL:
            return lambda a, b: wrap(a * b)
        case BinaryOp.FLOORDIV:
            return lambda a, b: wrap(a // b) if b else 0
        case BinaryOp.MOD:
            return lambda a, b: a % b if b else 0
        case BinaryOp.SHL:
            return lambda a, b: wrap(a << min(b & unsigned, bits))
        case BinaryOp.SHR:
            return lambda a, b: a >> min(b & unsigned, bits)
        case _:
            raise IRError(f"{op.value} is not defined for {dtype}")


def _wrapping(dtype: DType) -> Callable[[int], int]:
    # `DType.wrap` with its bounds computed once: the interpreter spends most of its time here.
    low, mask = dtype.low, (1 << dtype.bits) - 1
    return lambda value: ((value - low) & mask) + low


def _truncating(target: DType) -> Callable[[Any], int]:
    low, high = target.low, target.high

    def truncate(value: Any) -> int:
        if value != value:
            return 0
        if math.isinf(value):
            return high if value > 0 else low
        return min(max(int(value), low), high)

    return truncate
