"""The root of all errors, and the errors of the `base` package, which are rooted in `BaseError`.

That of the compiler of Python functions is in `base.jit.errors`.
"""

from __future__ import annotations


class Error(Exception):
    """Root of every error that Tandem raises on purpose; each floor has a root of its own below."""


class BaseError(Error):
    """Root of every error that the `base` package raises on purpose."""


class CacheError(BaseError):
    """A cache folder that cannot be used."""
