"""Trials: choices that were measured, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How a measurement ended."""

    MEASURED = "measured"
    ABANDONED = "abandoned"
    """It was stopped at its limit: the cost is greater."""
    FAILED = "failed"
    """The choice could not be compiled or run."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one measurement.

    Attributes
    ----------
    cost
        Cycles on the accelerator, seconds on the CPU: lower is better. Infinite unless measured.
    reason
        Why a measurement failed; empty otherwise.
    """

    status: Status
    cost: float
    reason: str = ""

    @staticmethod
    def measured(cost: float) -> Outcome:
        """A measurement that came to its end."""
        return Outcome(Status.MEASURED, cost)

    @staticmethod
    def abandoned() -> Outcome:
        """A measurement that was stopped at its limit."""
        return Outcome(Status.ABANDONED, float("inf"))

    @staticmethod
    def failed(reason: str) -> Outcome:
        """A choice that could not be measured."""
        return Outcome(Status.FAILED, float("inf"), " ".join(reason.split()))


@dataclass(frozen=True, slots=True)
class Trial:
    """A measured row of `Candidates`."""

    row: int
    outcome: Outcome
