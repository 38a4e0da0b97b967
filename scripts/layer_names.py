"""Layers that options name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from tandem.scripts.errors import CommandError


def no_layer(option: str, name: str, names: Sequence[str]) -> CommandError:
    """The error that none of the accelerator's layers, which are `names`, has the name that an
    option gave; with similar names."""
    near = get_close_matches(name, names, n=5, cutoff=0.5) or names[:5]
    rest = len(names) - len(near)
    others = f", and {rest} others" if rest else ""
    return CommandError(
        f"{option}: no layer of the accelerator is called {name!r}: there are "
        f"{', '.join(near)}{others}"
    )
