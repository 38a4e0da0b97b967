"""Errors of the commands themselves, all rooted in `CommandError`."""

from __future__ import annotations

__all__ = ["CommandError", "LayerError", "WrongResultError"]


class CommandError(Exception):
    """Root of every error that the `scripts` package raises on purpose."""


class LayerError(CommandError):
    """A convolution that cannot be, or a text that describes none."""


class WrongResultError(CommandError):
    """A machine that computed something else than the reference."""
