"""Functions that are compiled at their first call, and kept on disk."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from threading import RLock
from typing import Any, ParamSpec, TypeVar, cast

from tandem.base.jit.errors import CompilationError, MissingLlvmError
from tandem.base.jit.sources import Source
from tandem.base.jit.types import Type, pass_value, returned

P = ParamSpec("P")
R = TypeVar("R")

Report = Callable[[str], None]
"""A function that is told the name of each function that is compiled, when that begins."""

_REPORT: ContextVar[Report | None] = ContextVar("report", default=None)
_SWITCH = "TANDEM_JIT"
_RESULTS = 8
"""Places for results, behind those of arguments: no function returns so many numbers."""


@contextmanager
def reported(report: Report, *, alone: bool = False) -> Iterator[None]:
    """A context in which `report` is called for what is compiled, and not found on disk.

    Parameters
    ----------
    report
        Called before the function is compiled; an exception that it raises prevents that.
    alone
        Whether the reports of contexts around this one are not called; otherwise they come first.
    """
    outer = None if alone else _REPORT.get()

    def both(name: str) -> None:
        if outer is not None:
            outer(name)
        report(name)

    token = _REPORT.set(both)
    try:
        yield
    finally:
        _REPORT.reset(token)


class Compiled:
    """A function that is compiled for the types of each call."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._loaded: dict[tuple[Type, ...], tuple[Callable[[int], None], Type]] = {}
        self._lock = RLock()
        update_wrapper(self, source.python)

    @property
    def python(self) -> Callable[..., Any]:
        """The function in Python."""
        return self.source.python

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        leaves: list[int] = []
        kinds = tuple([pass_value(value, leaves) for value in arguments])
        found = self._loaded.get(kinds)
        if found is None:
            found = self._load(kinds)
        call, result = found
        leaves.extend([0] * _RESULTS)
        try:
            places = array("q", leaves)
        except OverflowError:
            raise CompilationError(
                f"{self.source.python.__qualname__} takes integers of 64 bits, signed"
            ) from None
        call(places.buffer_info()[0])
        return returned(result, iter(places))

    def prepare(self, *arguments: Any) -> None:
        """Compile for the types of `arguments`, so that the call does not."""
        kinds = tuple(pass_value(value, []) for value in arguments)
        if kinds not in self._loaded:
            self._load(kinds)

    def _load(self, kinds: tuple[Type, ...]) -> tuple[Callable[[int], None], Type]:
        # Imported here: LLVM is loaded when a function is first called.
        try:
            from tandem.base.jit.build import build
        except ModuleNotFoundError as error:
            raise MissingLlvmError(self.source.python.__qualname__) from error

        with self._lock:
            if kinds not in self._loaded:
                self._loaded[kinds] = build(self.source, kinds, _REPORT.get())
            return self._loaded[kinds]


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function`, for calls from Python and from other compiled functions."""
    return _compiled(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` inline into its callers: for little code in inner loops.

    A call would pass every field of a named tuple, which takes longer than such code itself.
    """
    return _compiled(function, inline=True)


def in_llvm(text: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator for a function without a result that is written in LLVM's language, too."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        return _compiled(function, inline=True, llvm=text)

    return decorate


def prepare(function: Callable[..., object], *arguments: object) -> None:
    """Compile or load `function` for a call with `arguments`, so that the call's time is its
    own."""
    if isinstance(function, Compiled):
        function.prepare(*arguments)


def _compiled(function: Callable[P, R], inline: bool = False, llvm: str = "") -> Callable[P, R]:
    if os.environ.get(_SWITCH) == "0":
        return function
    return cast(Callable[P, R], Compiled(Source(function, inline, llvm)))
