"""The machines around one, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tandem.compiler.search.points import Point


@dataclass(frozen=True, slots=True)
class Step:
    """A machine that differs from another in one dimension of the space, by one value.

    Attributes
    ----------
    point
        None if there is no such machine, for a reason.
    """

    fields: tuple[str, ...]
    up: bool
    point: Point | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The machines around one."""

    center: Point
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        """The entry `explain` of the command's JSON."""
        return {
            "center": self.center.as_json(),
            "steps": [
                {
                    "fields": list(step.fields),
                    "step": "up" if step.up else "down",
                    "point": None if step.point is None else step.point.as_json(),
                    "reason": step.reason or None,
                }
                for step in self.steps
            ],
        }
