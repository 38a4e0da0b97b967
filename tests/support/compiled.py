"""The Python functions that Numba compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def plain(function: Callable[P, R]) -> Callable[P, R]:
    """The Python function of a Numba-compiled function, or itself if Numba is off."""
    found: Callable[P, R] = getattr(function, "py_func", function)
    return found
