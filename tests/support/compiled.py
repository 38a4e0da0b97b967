"""Compiled functions as the plain Python that they are written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["plain"]

P = ParamSpec("P")
R = TypeVar("R")


def plain(function: Callable[P, R]) -> Callable[P, R]:
    """What Numba compiles as `function`; the same where compiling is switched off."""
    found: Callable[P, R] = getattr(function, "py_func", function)
    return found
