"""Workloads as plain data, to be written into records and read back.

A dataclass becomes a mapping of its fields (`UNLESS_NONE`: of those that are not None), an
enumeration the name of its member, a tuple a list, a function of a graph its text without its name,
which is not read back.
Types come from annotations when data is read; where an annotation is a union of dataclasses, the
mapping has the class's name under `is`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tandem.compiler.errors import RecordError
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.printer import text
from tandem.compiler.plan.record_fields import UNLESS_NONE

T = TypeVar("T")

_KIND = "is"
_FUNCTION = "kernel"


def to_plain(value: Any) -> Any:
    """`value` as numbers, strings, lists and mappings."""
    match value:
        case Enum():
            return value.name
        case None | bool() | int() | float() | str():
            return value
        case Function():
            return text(replace(value, name=_FUNCTION))
        case tuple() | list():
            return [to_plain(part) for part in value]
        case _ if is_dataclass(value):
            plain = {
                field.name: to_plain(getattr(value, field.name))
                for field in fields(value)
                if field.metadata != UNLESS_NONE or getattr(value, field.name) is not None
            }
            return {_KIND: type(value).__name__, **plain}
    raise RecordError(f"a {type(value).__name__} cannot be written into a record")


def from_plain(wanted: Any, plain: Any) -> Any:
    """The value of type `wanted` that `to_plain` made `plain` from.

    Raises
    ------
    RecordError
        `plain` is no value of that type.
    """
    if get_origin(wanted) in (Union, UnionType):
        return _of_union(get_args(wanted), plain)
    if get_origin(wanted) is tuple:
        return _of_tuple(get_args(wanted), plain)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        if isinstance(plain, str) and plain in wanted.__members__:
            return wanted[plain]
    elif is_dataclass(wanted) and isinstance(wanted, type):
        return _of_dataclass(wanted, plain)
    elif wanted in (int, float, str, bool, NoneType) and type(plain) is wanted:
        return plain
    raise RecordError(f"{json.dumps(plain)} is no {getattr(wanted, '__name__', wanted)}")


def canonical(value: Any) -> str:
    """A text that is equal for equal values: `to_plain` as JSON, its keys in order."""
    return canonical_text(to_plain(value))


def canonical_text(plain: Any) -> str:
    """Plain data as JSON, its keys in order."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def _of_union(options: tuple[Any, ...], plain: Any) -> Any:
    for option in options:
        if not isinstance(plain, Mapping) or plain.get(_KIND) == option.__name__:
            try:
                return from_plain(option, plain)
            except RecordError:
                continue
    names = ", ".join(option.__name__ for option in options)
    raise RecordError(f"{json.dumps(plain)} is none of {names}")


def _of_tuple(parts: tuple[Any, ...], plain: Any) -> tuple[Any, ...]:
    if not isinstance(plain, list):
        raise RecordError(f"{json.dumps(plain)} is no list")
    if len(parts) == 2 and parts[1] is ...:
        return tuple(from_plain(parts[0], part) for part in plain)
    if len(parts) != len(plain):
        raise RecordError(f"{json.dumps(plain)} has {len(plain)} entries, not {len(parts)}")
    return tuple(from_plain(part, one) for part, one in zip(parts, plain, strict=True))


def _of_dataclass(wanted: type[T], plain: Any) -> T:
    types = get_type_hints(wanted)
    known = fields(wanted)  # type: ignore[arg-type]
    names = [field.name for field in known]
    needed = {field.name for field in known if field.metadata != UNLESS_NONE}
    if not isinstance(plain, Mapping) or plain.get(_KIND) != wanted.__name__:
        raise RecordError(f"{json.dumps(plain)} is no {wanted.__name__}")
    if not {_KIND, *needed} <= set(plain) <= {_KIND, *names}:
        raise RecordError(
            f"a {wanted.__name__} has {', '.join(names)}, not {', '.join(sorted(plain))}"
        )
    given = [name for name in names if name in plain]
    return wanted(**{name: from_plain(types[name], plain[name]) for name in given})
