"""Types and constants of the loop language in OpenCL C."""

from __future__ import annotations

import math

from tandem.compiler.ir.dtypes import BOOL, FLOAT32, DType, Kind
from tandem.compiler.ir.expr import Const

_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}


def container_bits(dtype: DType) -> int:
    """The bits of the C type that holds an integer or a stored float in registers."""
    return next(bits for bits in _INTEGERS if bits >= dtype.bits)


def c_type(dtype: DType) -> str:
    """The type of a value: a condition is an int, a stored float the integer of its bits."""
    if dtype == BOOL:
        return "int"
    if dtype.is_float:
        return "float" if dtype == FLOAT32 else "double"
    name = _INTEGERS[container_bits(dtype)]
    return name if dtype.kind is Kind.INT else f"u{name}"


def stored_type(dtype: DType) -> str:
    """The type of an element of memory: a condition takes a byte."""
    return "uchar" if dtype == BOOL else c_type(dtype)


def unsigned_type(dtype: DType) -> str:
    """The type in which sums and products of an integer wrap, of 32 bits or more: there is no
    overflow of unsigned numbers, and that of signed ones means nothing in C."""
    return "ulong" if container_bits(dtype) > 32 else "uint"


def wrapped(text: str, dtype: DType) -> str:
    """A value of an integer type's container, modulo 2 to the power of the type's bits."""
    spare, name = container_bits(dtype) - dtype.bits, c_type(dtype)
    if not spare:
        return f"({name})({text})"
    if dtype.kind is not Kind.INT:
        return f"({name})(({text}) & {_mask(dtype)})"
    return f"({name})(({name})(({unsigned_type(dtype)})({text}) << {spare}) >> {spare})"


def _mask(dtype: DType) -> str:
    return f"({c_type(dtype)}){(1 << dtype.bits) - 1}{'UL' if dtype.bits > 32 else ''}"


def number(const: Const) -> str:
    """A constant, with the type of its value."""
    dtype, value = const.dtype, const.value
    if dtype == BOOL:
        return str(int(value))
    if dtype.is_float:
        return _float(float(value), dtype)
    whole = int(value)
    name = c_type(dtype)
    if dtype.kind is not Kind.INT:
        text = f"{whole}{'UL' if dtype.bits > 32 else 'u'}"
    elif whole == dtype.low and dtype.bits in (32, 64):
        text = f"(-{dtype.high}{'L' if dtype.bits > 32 else ''} - 1)"
    else:
        text = f"{whole}{'L' if dtype.bits > 32 else ''}"
    return f"(({name}){text})" if container_bits(dtype) < 32 or whole < 0 else text


def _float(value: float, dtype: DType) -> str:
    name = c_type(dtype)
    if math.isnan(value):
        return f"(({name})NAN)"
    if math.isinf(value):
        return f"(({name}){'-' if value < 0 else ''}INFINITY)"
    text = value.hex() + ("f" if dtype == FLOAT32 else "")
    return f"({text})" if text.startswith("-") else text
