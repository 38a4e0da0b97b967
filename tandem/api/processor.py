"""Processors to compile for, without an accelerator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Never

from tandem.workbench.arguments import at_least
from tandem.workbench.errors import ArgumentTypeError


@dataclass(frozen=True, slots=True, init=False)
class Cpu:
    """This processor, as the only device that a network is compiled for.

    Parameters
    ----------
    others
        Nothing: no other processor can be named in this version.

    Attributes
    ----------
    threads
        The threads that schedules are chosen for; None for all cores. A run may have others.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        `threads` is no whole number above 0; another processor is named.
    """

    threads: int | None

    def __init__(self, *others: Never, threads: int | None = None, **options: Never) -> None:
        _refuse(others, options)
        if threads is not None:
            at_least("threads", threads, 1)
        object.__setattr__(self, "threads", threads)


def _refuse(others: Sequence[object], options: Mapping[str, object]) -> None:
    """Raise `ArgumentTypeError` for arguments that name another processor."""
    named = [*map(repr, others), *(f"{name}={value!r}" for name, value in options.items())]
    if named:
        raise ArgumentTypeError(
            f"Cpu({', '.join(named)}): this version compiles for this processor only: Cpu() or "
            "Cpu(threads=N)"
        )
