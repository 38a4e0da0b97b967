"""Choices that measurements found best, for planners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import Any

from tandem.compiler.te.knobs import Choice


class TunedChoices(ABC):
    """Choices that measurements found best, by workload. A value that is compared by identity."""

    @abstractmethod
    def choice(self, template: Any, workload: Any) -> Choice | None:
        """The choice for a workload of a template, if there is one."""

    def cost(self, template: Any, workload: Any) -> float:
        """What that choice costs; infinite if there is none, or if that is not known."""
        return inf

    def knows(self, template: Any) -> bool:
        """Whether there may be choices for workloads of a template."""
        return True
