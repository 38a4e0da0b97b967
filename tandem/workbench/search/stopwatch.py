"""The time that a search has taken so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """The seconds since it was made, or since `begun` of the clock `monotonic`."""

    begun: float = field(default_factory=monotonic)

    @property
    def seconds(self) -> float:
        """The seconds until now."""
        return monotonic() - self.begun

    def reached(self, limit: float | None) -> bool:
        """Whether `limit` seconds have passed; False without a limit."""
        return limit is not None and self.seconds >= limit
