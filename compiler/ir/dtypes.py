"""Data types of values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np

from tandem.compiler.errors import IRError


class Kind(Enum):
    """Kinds of types."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"
    FLOAT16 = "float16"
    """This and the next two: formats in which floats are stored. There is no arithmetic and
    no cast; `expr.Reinterpret` makes integers of them."""
    BFLOAT16 = "bfloat16"
    FLOAT4 = "float4_e2m1fn"
    """A sign, two bits of exponent and one of fraction: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their
    negatives (OCP Microscaling Formats, MXFP4's elements). Stored only, too."""


@dataclass(frozen=True, slots=True)
class DType:
    """A type: `int(n)` and `uint(n)` wrap modulo 2**n, floats are IEEE 754."""

    kind: Kind
    bits: int

    def __post_init__(self) -> None:
        allowed: Any = _WIDTHS.get(self.kind, range(1, 65))
        if self.bits not in allowed:
            raise IRError(f"there is no {self.kind.value} of {self.bits} bits")

    def __str__(self) -> str:
        named = self.kind is Kind.BOOL or self.is_stored_float
        return self.kind.value if named else f"{self.kind.value}{self.bits}"

    @property
    def is_float(self) -> bool:
        """Whether the type is a float."""
        return self.kind is Kind.FLOAT

    @property
    def is_stored_float(self) -> bool:
        """Whether the type is a format in which floats are only stored."""
        return self.kind in _STORED_FLOATS

    @property
    def is_integer(self) -> bool:
        """Whether the type is a signed or an unsigned integer."""
        return self.kind in (Kind.INT, Kind.UINT)

    @property
    def is_narrow(self) -> bool:
        """Whether the type has fewer than 8 bits and is no bool: in arrays it takes a byte."""
        return self.kind is not Kind.BOOL and self.bits < INT8.bits

    @property
    def holder(self) -> DType:
        """The type that holds the bits of a stored float, an unsigned integer; else this type."""
        return DType(Kind.UINT, self.bits) if self.is_stored_float else self

    @property
    def low(self) -> int:
        """The least value of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind is Kind.INT else 0

    @property
    def high(self) -> int:
        """The greatest value of an integer type."""
        return (1 << (self.bits - (self.kind is Kind.INT))) - 1

    def wrap(self, value: int) -> int:
        """`value` modulo 2**bits, as a value of this integer type."""
        return (value - self.low) % (1 << self.bits) + self.low

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type; IRError for integers of other widths than 2, 4, 8, 16, 32 and 64 bits.

        An element of 2 or 4 bits takes a byte, whose other bits mean nothing.
        """
        if self.kind is not Kind.BOOL and self.bits not in (2, 4, 8, 16, 32, 64):
            raise IRError(f"{self} has no array type: its width must be 2, 4, 8, 16, 32 or 64 bits")
        others = self.kind is Kind.BFLOAT16 or self.is_narrow
        return np.dtype(getattr(ml_dtypes, str(self)) if others else str(self))


_WIDTHS = {
    Kind.BOOL: (1,),
    Kind.FLOAT: (32, 64),
    Kind.FLOAT16: (16,),
    Kind.BFLOAT16: (16,),
    Kind.FLOAT4: (4,),
}
_STORED_FLOATS = (Kind.FLOAT16, Kind.BFLOAT16, Kind.FLOAT4)

BOOL = DType(Kind.BOOL, 1)
INT2, INT4 = (DType(Kind.INT, bits) for bits in (2, 4))
UINT2, UINT4 = (DType(Kind.UINT, bits) for bits in (2, 4))
INT8, INT16, INT32, INT64 = (DType(Kind.INT, bits) for bits in (8, 16, 32, 64))
UINT8, UINT16, UINT32, UINT64 = (DType(Kind.UINT, bits) for bits in (8, 16, 32, 64))
FLOAT32, FLOAT64 = (DType(Kind.FLOAT, bits) for bits in (32, 64))
FLOAT16, BFLOAT16 = DType(Kind.FLOAT16, 16), DType(Kind.BFLOAT16, 16)
FLOAT4 = DType(Kind.FLOAT4, 4)
INDEX = INT64
"""The type of loop variables and of indices."""


def smallest_int(low: int, high: int) -> DType:
    """The smallest of int8, int16 and int32 that holds `low` to `high`, which must fit int32."""
    return next(each for each in (INT8, INT16, INT32) if each.low <= low and high <= each.high)


def dtype_of(text: str) -> DType:
    """The type named `text`, such as `int8`, `float32`, `bool`."""
    named = {str(each): each for each in (BOOL, FLOAT16, BFLOAT16, FLOAT4)}
    if text in named:
        return named[text]
    for kind in (Kind.UINT, Kind.INT, Kind.FLOAT):
        if text.startswith(kind.value) and text[len(kind.value) :].isdecimal():
            return DType(kind, int(text[len(kind.value) :]))
    raise IRError(f"{text!r} is no type")
