"""The public names of `tandem`, with signatures, as lines of text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import tandem


def lines() -> Iterator[str]:
    """A line for each public name, and for each public member of a class."""
    for name in sorted(tandem.__all__):
        yield from _described(name, getattr(tandem, name))


def _described(name: str, value: object) -> Iterator[str]:
    if inspect.isclass(value) and issubclass(value, BaseException):
        yield f"error {name}"
    elif inspect.isclass(value):
        yield f"class {name}{_signature(value)}"
        for member in sorted(dir(value)):
            found = inspect.getattr_static(value, member)
            public = not member.startswith("_") or member in ("__getitem__", "__len__", "__iter__")
            if public and member not in dir(object):
                yield f"    {_member(member, found)}"
    elif inspect.isfunction(value):
        yield f"def {name}{_signature(value)}"
    else:
        yield f"module {name}: {', '.join(sorted(getattr(value, '__all__', ())))}"


def _member(name: str, value: object) -> str:
    if isinstance(value, property):
        return f"{name}: {inspect.signature(value.fget).return_annotation if value.fget else ''}"
    if isinstance(value, staticmethod):
        return f"static {name}{_signature(value.__func__)}"
    return f"{name}{_signature(value)}" if inspect.isfunction(value) else name


def _signature(value: object) -> str:
    assert callable(value)
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
