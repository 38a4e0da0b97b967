"""Attributes of operators: frozen dataclasses; checks and the text form use the field types.

A field is an `int`, `float`, `bool`, `DType`, `Layout`, `Enum`, a tuple of integers, or a union of
these and None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from tandem.compiler.ir.dtypes import DType
from tandem.compiler.layouts.layout import Layout


@dataclass(frozen=True, slots=True)
class Attributes:
    """The base class of all attributes; instances are the attributes of operators without any."""


NO_ATTRIBUTES: Final = Attributes()
"""The attributes of calls of functions, and of operators without attributes."""


def declared(kind: type[Attributes]) -> dict[str, Any]:
    """The names and types of the fields of a class of attributes."""
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


def fits(value: object, hint: Any) -> bool:
    """Whether a value has exactly the type `hint`: an int is no float, a bool is no int."""
    if get_origin(hint) is tuple:
        return type(value) is tuple and all(type(each) is int for each in value)
    if isinstance(hint, UnionType):
        return any(fits(value, each) for each in get_args(hint))
    # NaN is not equal to itself, so that programs with NaN attributes could not be compared.
    return type(value) is hint and not (isinstance(value, float) and math.isnan(value))


def refusal(attributes: Attributes, hints: Mapping[str, Any]) -> str:
    """An error message if a value is not of the type declared in `hints`; else empty."""
    for name, hint in hints.items():
        value = getattr(attributes, name)
        if not fits(value, hint):
            return f"{name} is {value!r}, and has to be {name_of(hint)}"
    return ""


def name_of(hint: Any) -> str:
    """The name of a type in error messages."""
    if get_origin(hint) is tuple:
        return "a tuple of integers"
    if isinstance(hint, UnionType):
        return " or ".join(name_of(each) for each in get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "one of " + ", ".join(str(each.value) for each in hint)
    return _NAMES[hint]


_NAMES: Final[Mapping[Any, str]] = MappingProxyType(
    {
        int: "an integer",
        float: "a float",
        bool: "True or False",
        DType: "a type",
        Layout: "a layout",
        NoneType: "none",
    }
)
