"""The types of compiled code, and how Python's values are passed to it.

A value is a row of *leaves*, each of one LLVM type: a number is one leaf, an array is a pointer and
its shape, a tuple or named tuple is the leaves of its fields. None has no leaves.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tandem.base.jit.errors import CompilationError


@dataclass(frozen=True, slots=True)
class Scalar:
    """The type of a number: its name in Python and in LLVM."""

    name: str
    llvm: str


@dataclass(frozen=True, slots=True)
class Array:
    """The type of a dense, row-major array: the name of its NumPy type, and its dimensions."""

    element: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Record:
    """The type of a tuple; of a named tuple, with the names of its fields."""

    fields: tuple[Type, ...]
    names: tuple[str, ...] = ()


Type = Scalar | Array | Record

INT = Scalar("int", "i64")
BOOL = Scalar("bool", "i1")
FLOAT = Scalar("float", "double")
NONE = Record(())


@dataclass(frozen=True, slots=True)
class Element:
    """How an array holds a number: its LLVM type, and the type and instruction of a loaded one."""

    llvm: str
    loaded: Scalar
    extend: str = ""


ELEMENTS = {
    "bool": Element("i8", BOOL),
    "int8": Element("i8", INT, "sext"),
    "uint8": Element("i8", INT, "zext"),
    "int16": Element("i16", INT, "sext"),
    "uint16": Element("i16", INT, "zext"),
    "int32": Element("i32", INT, "sext"),
    "uint32": Element("i32", INT, "zext"),
    "int64": Element("i64", INT),
    "float64": Element("double", FLOAT),
}
"""By the name of the NumPy type. Integers become int64 when they are loaded."""


def leaves_of(kind: Type) -> Iterator[str]:
    """The LLVM types of a value's leaves."""
    match kind:
        case Scalar():
            yield kind.llvm
        case Array():
            yield "ptr"
            yield from ["i64"] * kind.dimensions
        case Record():
            for field in kind.fields:
                yield from leaves_of(field)


def pass_value(value: Any, leaves: list[int]) -> Type:
    """The type of an argument; appends its leaves to `leaves`, each as 64 bits.

    Raises
    ------
    CompilationError
        If compiled code has no such type, or if an array is not dense.
    """
    match value:
        case np.ndarray():
            return _pass_array(value, leaves)
        case bool() | np.bool_():
            leaves.append(int(value))
            return BOOL
        case int() | np.integer():
            leaves.append(int(value))
            return INT
        case float() | np.floating():
            leaves.append(struct.unpack("q", struct.pack("d", value))[0])
            return FLOAT
        case None:
            return NONE
        case tuple():
            fields = tuple([pass_value(field, leaves) for field in value])
            return Record(fields, getattr(value, "_fields", ()))
    raise CompilationError(f"compiled code takes no {type(value).__name__}")


_OF_DTYPES: Final = {np.dtype(name): name for name in ELEMENTS}
"""By native NumPy type its name, which NumPy puts together anew each time it is asked."""


def _pass_array(array: np.ndarray[Any, Any], leaves: list[int]) -> Type:
    element, flags = _OF_DTYPES.get(array.dtype), array.flags
    if element is None:
        raise CompilationError(f"compiled code takes no array of {array.dtype}")
    if not (flags.c_contiguous and flags.aligned):
        raise CompilationError(
            f"compiled code takes arrays that are dense, row-major and aligned, not one of shape "
            f"{array.shape} with strides {array.strides}"
        )
    leaves.append(array.__array_interface__["data"][0])
    leaves.extend(array.shape)
    return Array(element, array.ndim)


def returned(kind: Type, leaves: Iterator[int]) -> Any:
    """The Python value of a result, from its leaves as 64 bits."""
    match kind:
        case Record():
            values = tuple(returned(field, leaves) for field in kind.fields)
            return values if values else None
        case _ if kind is FLOAT:
            return struct.unpack("d", struct.pack("q", next(leaves)))[0]
        case _ if kind is BOOL:
            return next(leaves) != 0
        case _:
            return next(leaves)
