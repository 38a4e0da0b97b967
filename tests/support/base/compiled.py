"""The Python functions that are compiled."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def plain(function: Callable[P, R]) -> Callable[P, R]:
    """A function as plain Python, and the compiled functions of its module that it calls likewise.

    It is `function` itself where nothing is compiled.
    """
    function = getattr(function, "python", function)
    assert isinstance(function, FunctionType)
    names = {name: getattr(value, "python", value) for name, value in function.__globals__.items()}
    copied = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    return cast(Callable[P, R], copied)
