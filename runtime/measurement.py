"""The interface of what devices measure of a step."""

from __future__ import annotations

from typing import Any, Protocol, Self


class Measurement(Protocol):
    """What a device measured in one or more runs of a step. A frozen value."""

    @property
    def cycles(self) -> int | None:
        """Cycles of the device; None if it counts none."""

    def with_later(self, later: Any) -> Self:
        """This measurement and one of a later run, of the same type: times and counts summed."""
