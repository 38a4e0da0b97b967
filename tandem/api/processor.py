"""Processors to compile for, without an accelerator."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.workbench.arguments import at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """This processor, as the only device that a network is compiled for.

    Attributes
    ----------
    threads
        The threads that schedules are chosen for; None for all cores. A run may have others.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        `threads` is no whole number above 0.
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None:
            at_least("threads", self.threads, 1)
