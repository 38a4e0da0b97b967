"""What a benchmark measures, against what it should be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Figure", "print_figures"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of a report. `target` is the least that `value` may be, or the most; or nothing."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Whether the value is as its target wants it."""
        if self.target is None:
            return True
        return self.value <= self.target if self.at_most else self.value >= self.target

    def __str__(self) -> str:
        row = f"{self.name:34} {self.value:9.3g} {self.unit}"
        if self.target is None:
            return row
        bound = "at most" if self.at_most else "at least"
        verdict = "" if self.met else "  SHORT"
        return f"{row:64} {bound} {self.target:.3g}{verdict}"


def print_figures(figures: Iterable[Figure]) -> int:
    """Print each as it comes. The exit code: 1 where a target is missed."""
    missed = 0
    for figure in figures:
        print(figure, flush=True)
        missed += not figure.met
    return 1 if missed else 0
