"""Benchmark measurements with target values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measurement:
    """A row of a benchmark's report.

    Attributes
    ----------
    target
        Lower bound of `value` or, with `at_most`, its upper bound; None without a target.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Whether the value meets its target."""
        if self.target is None:
            return True
        return self.value <= self.target if self.at_most else self.value >= self.target

    def __str__(self) -> str:
        row = f"{self.name:34} {self.value:9.3g} {self.unit}"
        if self.target is None:
            return row
        bound = "at most" if self.at_most else "at least"
        verdict = "" if self.met else "  MISSED"
        return f"{row:64} {bound} {self.target:.3g}{verdict}"


def print_measurements(measurements: Iterable[Measurement]) -> int:
    """Print each measurement once it is made. Returns the exit code: 1 if a target is missed."""
    missed = 0
    for measurement in measurements:
        print(measurement, flush=True)
        missed += not measurement.met
    return 1 if missed else 0
