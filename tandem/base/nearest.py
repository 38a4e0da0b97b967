"""The name that a misspelt one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """The end of an error's sentence, `; did you mean pynq?`; empty if no name is near."""
    near = get_close_matches(name, [*allowed], n=1)
    return f"; did you mean {near[0]}?" if near else ""
