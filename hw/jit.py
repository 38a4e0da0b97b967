"""The one door to Numba: typed decorators for functions that are compiled when they are first run.

Only what is about to run compiled code imports this module, because Numba takes half a second to
import. With NUMBA_DISABLE_JIT=1 everything runs as the plain Python that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any, ParamSpec, TypeVar
from zlib import crc32

import numba
from numba import extending

__all__ = ["cached", "compiled", "fingerprint", "inlined", "intrinsic", "overload"]

P = ParamSpec("P")
R = TypeVar("R")

# Throughout: division does not test for zero, and other Python threads run on meanwhile.


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` into whatever compiled function calls it."""
    result: Callable[P, R] = numba.njit(error_model="numpy", nogil=True)(function)
    return result


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as a part of each function that calls it: for what runs every micro-op.

    A call would pass all that a named tuple holds, which costs more than a micro-op.
    """
    result: Callable[P, R] = numba.njit(forceinline=True, error_model="numpy", nogil=True)(function)
    return result


def cached(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function`, and keep the machine code on disk where a folder can be written.

    Numba keys what it keeps by the host's processor, by the file and bytecode of `function` itself
    and by the values that it closes over, but not by the functions that it calls: `function` must
    close over a `fingerprint` of their source.
    """
    try:
        result: Callable[P, R] = numba.njit(cache=True, error_model="numpy", nogil=True)(function)
    except RuntimeError:  # Numba finds no folder to write to
        return compiled(function)
    return result


def fingerprint(*packages: str) -> int:
    """A number that changes with the source of any module directly in `packages`."""
    value = 0
    for package in packages:
        for entry in sorted(files(package).iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                value = crc32(entry.read_bytes(), crc32(entry.name.encode(), value))
    return value


def overload(function: Callable[..., object]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Say how compiled code does what the plain Python `function` means."""
    result: Callable[[Callable[P, R]], Callable[P, R]] = extending.overload(function)
    return result


def intrinsic(function: Callable[..., object]) -> Any:
    """A function of compiled code that is given as LLVM instructions; see `numba.extending`."""
    return extending.intrinsic(function)
