"""Requantisations as templates meet them, for those who ask what a layer's passes have to compute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tandem.compiler.requantisation import RequantSpec

_LISTENER: ContextVar[list[RequantSpec] | None] = ContextVar("requantisations", default=None)


def note(spec: RequantSpec) -> None:
    """Tell whoever listens of a requantisation that a template has bound."""
    found = _LISTENER.get()
    if found is not None:
        found.append(spec)


@contextmanager
def noted() -> Iterator[list[RequantSpec]]:
    """A context with the requantisations that templates bind within it, in their order."""
    found: list[RequantSpec] = []
    token = _LISTENER.set(found)
    try:
        yield found
    finally:
        _LISTENER.reset(token)
