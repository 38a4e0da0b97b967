"""Errors of the commands themselves, all rooted in `CommandError`."""

from __future__ import annotations


class CommandError(Exception):
    """Root of every error that the `scripts` package raises on purpose."""


class LayerError(CommandError):
    """An impossible convolution, or a text that is no description of a convolution."""


class SweepError(CommandError):
    """A text that is no description of a sweep, or a sweep without a point to measure."""


class SchedulerError(CommandError):
    """A cluster that cannot measure: no scheduler, no worker, or workers of another version."""


class WorkerError(CommandError):
    """Something to measure that cannot be sent to another process, or not be imported there."""


class WrongResultError(CommandError):
    """A result of a machine that differs from the reference."""


class SpaceError(CommandError):
    """A text that is no description of a space of machines, or a space without one that fits."""


class SearchError(CommandError):
    """A search that cannot go on: its storage cannot be used, or belongs to another search."""
