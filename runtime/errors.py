"""Errors of the runtime, all rooted in `RunError`."""

from __future__ import annotations

from tandem.base.errors import Error


class RunError(Error):
    """Root of every error that the `runtime` package raises on purpose."""


class NativeCodeError(RunError):
    """Native code that cannot be loaded or called: damaged, for another machine, wrong arrays."""


class ArtifactError(RunError):
    """An artifact that cannot be read, or that this machine cannot run."""


class InputError(RunError):
    """Inputs that do not fit the network: names, shapes, types, values."""
