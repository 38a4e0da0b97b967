"""Names that nobody has yet."""

from __future__ import annotations

__all__ = ["fresh"]


def fresh(stem: str, taken: set[str]) -> str:
    """`stem`, or `stem_1` and so on: the first that is not taken; from now on it is."""
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name
