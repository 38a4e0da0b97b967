"""Names and keywords of the text form."""

from __future__ import annotations

from typing import Final

from tandem.compiler.errors import IRError
from tandem.compiler.ir.dtypes import DType, dtype_of
from tandem.compiler.ir.syntax import NUMBER_WORDS

KEYWORDS: Final = frozenset({"func", "kernel", "if", "else", "yield", "return"})
"""Reserved words, which are no names."""

FUNCTION_TYPE: Final = "fn"
"""The word that begins the type of a function, before its brackets. It and the three that follow
are no reserved words: what comes after them tells them from names."""

FUN: Final = "fun"
"""The word that begins a function that is a value, before its brackets."""

PARTIAL: Final = "partial"
"""The word before a function that becomes a value with its first arguments."""

GRAD: Final = "grad"
"""The word before a function, in brackets, whose gradients are a function."""

VALUE_AND_GRAD: Final = "value_and_grad"
"""The same, of a function that gives the result too."""

CALL: Final = "call"
"""The word before a value that is called."""

TYPE: Final = "type"
"""The word that begins the declaration of a data type. It and the next are no reserved words."""

MATCH: Final = "match"
"""The word before a value of a data type that is told apart by its constructor."""

ELSE: Final = "else"
"""The word before a body for all that has none before."""

NONE: Final = "none"
"""The text of an attribute that is None."""

REFERENCE: Final = "h"
"""The prefix of a constant's digest: names do not begin with digits."""

MAX_INLINE_ELEMENTS: Final = 8
"""The maximum number of elements of a constant that is printed in full."""


def dtype_named(text: str) -> DType | None:
    """The element type named `text`; None if there is none."""
    try:
        return dtype_of(text)
    except (IRError, ValueError):
        # ValueError: Python does not read integers of many digits.
        return None


def is_name(text: str) -> bool:
    """Whether the parser accepts the text as the name of a value or a function."""
    word = text.isascii() and text.isidentifier()
    return word and text not in KEYWORDS | NUMBER_WORDS and dtype_named(text) is None


def unique_name(stem: str, taken: set[str]) -> str:
    """The first of `stem`, `stem_1`, `stem_2`, ... not in `taken`; adds it to `taken`."""
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name
