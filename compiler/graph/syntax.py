"""What the printer, the parser and the verifier share of the text form."""

from __future__ import annotations

from typing import Final

from compiler.errors import IRError
from compiler.ir.dtypes import dtype_of
from compiler.ir.syntax import NUMBER_WORDS

__all__ = ["KEYWORDS", "NONE", "REFERENCE", "SMALL", "is_name"]

KEYWORDS: Final = frozenset({"func", "kernel", "if", "else", "yield", "return"})
"""Nothing is called so."""

NONE: Final = "none"
"""An attribute that is not given."""

REFERENCE: Final = "h"
"""In front of a constant's digest: names do not begin with digits."""

SMALL: Final = 8
"""Elements of the largest constant that is written out."""


def is_name(text: str) -> bool:
    """Whether a value or a function can be called so, and its text be read back."""
    if not (text.isascii() and text.isidentifier()) or text in KEYWORDS | NUMBER_WORDS:
        return False
    try:
        dtype_of(text)
    except (IRError, ValueError):
        return True
    return False
