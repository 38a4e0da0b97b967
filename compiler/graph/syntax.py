"""What the printer, the parser and the verifier share of the text form."""

from __future__ import annotations

from typing import Final

from compiler.errors import IRError
from compiler.ir.dtypes import DType, dtype_of
from compiler.ir.syntax import NUMBER_WORDS

__all__ = ["KEYWORDS", "NONE", "REFERENCE", "SMALL", "dtype_named", "fresh", "is_name"]

KEYWORDS: Final = frozenset({"func", "kernel", "if", "else", "yield", "return"})
"""Nothing is called so."""

NONE: Final = "none"
"""An attribute that is not given."""

REFERENCE: Final = "h"
"""In front of a constant's digest: names do not begin with digits."""

SMALL: Final = 8
"""Elements of the largest constant that is written out."""


def dtype_named(text: str) -> DType | None:
    """The type that is called so; None if none is."""
    try:
        return dtype_of(text)
    except (IRError, ValueError):
        # ValueError: Python does not read integers of many digits.
        return None


def is_name(text: str) -> bool:
    """Whether a value or a function can be called so, and its text be read back."""
    word = text.isascii() and text.isidentifier()
    return word and text not in KEYWORDS | NUMBER_WORDS and dtype_named(text) is None


def fresh(stem: str, taken: set[str]) -> str:
    """`stem`, or `stem_1` and so on: the first that is not taken; from now on it is."""
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name
