"""Checks of arguments, whose errors say what is allowed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import index as as_index
from pathlib import Path
from typing import Any, Final, NoReturn

from tandem.base.nearest import did_you_mean
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError

_LISTED: Final = 30
"""Allowed names in an error; the fields of a machine are fewer."""


def expect(what: str, value: object, allowed: str) -> NoReturn:
    """Raise `ArgumentTypeError`: an argument is of another type than is allowed."""
    raise ArgumentTypeError(f"{what} is {_short(value)}: it must be {allowed}")


def choice(what: str, value: object, allowed: Iterable[str]) -> str:
    """The value, which must be one of some names.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        No text; another one, with the nearest allowed names first.
    """
    names = [*allowed]
    if not isinstance(value, str):
        expect(what, value, f"one of {_listed(names)}")
    if value not in names:
        hint = did_you_mean(value, names)
        raise ArgumentValueError(f"no {what} {value!r}: there are {_listed(names)}{hint}")
    return value


def _listed(names: Sequence[str]) -> str:
    left = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {left} others" if left > 0 else "") or "none"


def texts(what: str, value: object) -> tuple[str, ...]:
    """The value, which must be a sequence of names, or one name.

    Raises
    ------
    ArgumentTypeError
        Anything else.
    """
    found: tuple[Any, ...] = ()
    if isinstance(value, str):
        found = (value,)
    elif isinstance(value, Iterable):
        found = tuple(value)
    else:
        expect(what, value, "a sequence of names")
    for name in found:
        if not isinstance(name, str):
            expect(f"a name of {what}", name, "a str")
    return found


def index(what: str, value: object, count: int) -> int:
    """The value, which must be the number of one of `count` things; negative ones from the end.

    Raises
    ------
    ArgumentTypeError, IndexError
        No whole number; one out of range.
    """
    try:
        found = as_index(value)  # type: ignore[arg-type]
    except TypeError:
        expect(what, value, "a whole number, a slice, or a name")
    if not -count <= found < count:
        # Python's protocol of sequences ends with it.
        raise IndexError(f"no {what} {found}: there are {count}")
    return found


def file_path(what: str, value: object) -> Path:
    """The path of a `str` or an `os.PathLike`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Anything else; an empty path, which would be the current folder.
    """
    if not isinstance(value, str | os.PathLike):
        expect(what, value, "a path: a str or an os.PathLike")
    path: Any = os.fspath(value)
    if not path:
        raise ArgumentValueError(f"{what} is empty: it must be a path")
    return Path(os.fsdecode(path))


def at_least(what: str, value: object, least: int) -> int:
    """The value, which must be a whole number from `least` on.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        No whole number; one below.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        expect(what, value, f"a whole number, {least} or more")
    found = as_index(value)
    if found < least:
        raise ArgumentValueError(f"{what} is {found}: it must be {least} or more")
    return found


@contextmanager
def value_errors(*kinds: type[Exception]) -> Iterator[None]:
    """A context in which errors of some kinds are `ArgumentValueError`, with the same message."""
    try:
        yield
    except kinds as error:
        raise ArgumentValueError(str(error)) from error


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
