"""The clock with which a run's cycles are converted to time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scripts.errors import CommandError


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock in MHz, and where it comes from: `as given`, or `measured: ` and how.

    Raises
    ------
    CommandError
        If `mhz` is not a finite number above 0.
    """

    mhz: float
    source: str

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mhz) and self.mhz > 0):
            raise CommandError(f"a clock of {self.mhz} MHz: it must be a finite number above 0")

    def milliseconds(self, cycles: int) -> float:
        """The time of `cycles` cycles."""
        return cycles / self.mhz / 1000

    def __str__(self) -> str:
        return f"{self.mhz:.10g} MHz, {self.source}"
