"""Errors of this floor, all rooted in `TandemError`."""

from __future__ import annotations

from tandem.base.errors import Error


class TandemError(Error):
    """Root of every error that the `tandem` package raises on purpose."""


class ModelError(TandemError):
    """A name that is neither a built-in model nor a file."""


class FallbackError(TandemError):
    """An artifact without code for the processor, of which a run on it is asked."""


class ExportError(TandemError):
    """A network that cannot be a C library; says why."""


class LabelsError(TandemError):
    """A file that has no classes of samples, or others than a network has."""


class DifferenceError(TandemError):
    """Two engines that do not agree."""


class ConvolutionError(TandemError):
    """An impossible convolution, or a text that is no description of a convolution."""


class ClockError(TandemError):
    """A clock that is no finite number above 0."""


class SweepError(TandemError):
    """A text that is no description of a sweep, or a sweep without a point to measure."""


class SchedulerError(TandemError):
    """A cluster that cannot measure: no scheduler, no worker, or workers of another version."""


class WrongResultError(TandemError):
    """A result of a machine that differs from the reference."""


class ArgumentTypeError(TandemError, TypeError):
    """An argument of another type than is allowed; says what is."""


class ArgumentValueError(TandemError, ValueError):
    """An argument whose value is not allowed; says what is."""


class MissingPackageError(TandemError, ImportError):
    """A package that is not installed, and that a call needs."""

    def __init__(self, call: str, package: str, install: str) -> None:
        super().__init__(f"{call} needs {package}, which is not installed: pip install '{install}'")


class PageError(TandemError):
    """A page of a report whose parts do not fit each other, or without anything to show."""


class UntimedError(TandemError):
    """What needs cycles, of a run in which nothing counted any."""


class SocError(TandemError):
    """A system on chip that cannot be made, built or simulated; says why."""


class TrainingError(TandemError):
    """A training that cannot begin, go on or be resumed; says why."""
