"""Errors of the `base` package, all rooted in `BaseError`.

That of the compiler of Python functions is in `base.jit.errors`.
"""

from __future__ import annotations


class BaseError(Exception):
    """Root of every error that the `base` package raises on purpose."""


class CacheError(BaseError):
    """A cache folder that cannot be used."""
