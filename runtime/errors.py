"""Errors of the runtime's floor, all rooted in `RunError`."""

from __future__ import annotations

__all__ = ["ArtifactError", "InputError", "NativeCodeError", "RunError"]


class RunError(Exception):
    """Root of every error that the `runtime` package raises on purpose."""


class NativeCodeError(RunError):
    """Native code that cannot be loaded or called: damaged, for another machine, wrong arrays."""


class ArtifactError(RunError):
    """An artifact that cannot be read, or that this machine cannot run."""


class InputError(RunError):
    """What a network is given does not fit it: names, shapes, types, values."""
