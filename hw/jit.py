"""Typed decorators for Numba: the decorated function is compiled at its first call.

Only modules that run compiled code import this one, because Numba takes half a second to import.
With NUMBA_DISABLE_JIT=1 the functions run as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any, ParamSpec, TypeVar
from zlib import crc32

import numba
from numba import extending

P = ParamSpec("P")
R = TypeVar("R")

# Options of all Numba compilations here: division by zero does not raise, and the GIL is released.


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function`, so that other compiled functions can call it."""
    result: Callable[P, R] = numba.njit(error_model="numpy", nogil=True)(function)
    return result


def compiled_as(name: str, function: Callable[P, R]) -> Callable[P, R]:
    """`compiled`, for a function that is made several times, with other values closed over.

    Each needs a `name` of its own. Numba names machine code by function and a running number, and
    code from the disk cache keeps the numbers of another process: of two functions with one name,
    the linker could take the one for the other.
    """
    function.__qualname__ = name
    return compiled(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` inline into its callers: for code that runs once per micro-op.

    A call would pass every field of a named tuple, which takes longer than the micro-op itself.
    """
    result: Callable[P, R] = numba.njit(forceinline=True, error_model="numpy", nogil=True)(function)
    return result


def cached(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` and cache its machine code on disk, if the cache folder is writable.

    Numba's cache key is the host's processor, the file and bytecode of `function`, and the values
    that `function` closes over. The source of its callees is not in the key: `function` must close
    over a `fingerprint` of their source.
    """
    try:
        result: Callable[P, R] = numba.njit(cache=True, error_model="numpy", nogil=True)(function)
    except RuntimeError:  # Numba finds no folder to write to
        return compiled(function)
    return result


def fingerprint(*packages: str) -> int:
    """A checksum of the source of all modules in `packages`, without their subpackages."""
    value = 0
    for package in packages:
        for entry in sorted(files(package).iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                value = crc32(entry.read_bytes(), crc32(entry.name.encode(), value))
    return value


def overload(function: Callable[..., object]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that registers a compiled implementation of `function`, as Numba's `overload`."""
    result: Callable[[Callable[P, R]], Callable[P, R]] = extending.overload(function)
    return result


def intrinsic(function: Callable[..., object]) -> Any:
    """A function for compiled code, from a generator of its LLVM IR, as Numba's `intrinsic`."""
    return extending.intrinsic(function)
