"""What a run took, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.layers import StreamRun

__all__ = ["Profile", "StepProfile"]


@dataclass(frozen=True, slots=True)
class StepProfile:
    """A step of a run.

    Attributes
    ----------
    name
        What the graph calls the step's result.
    operators
        Of the graph, that it computed.
    device
        Where.
    macs
        Useful multiply-accumulates.
    seconds
        Of this computer's time.
    run
        What the accelerator tells of it; None on a device that tells nothing.
    reason
        Why no accelerator does the step; None where one does, or none was asked.
    """

    name: str
    operators: tuple[str, ...]
    device: str
    macs: int
    seconds: float
    run: StreamRun | None = None
    reason: str | None = None

    @property
    def cycles(self) -> int | None:
        """Of the accelerator; None where there are none."""
        return None if self.run is None else self.run.result.cycles


@dataclass(frozen=True, slots=True)
class Profile:
    """A run.

    Attributes
    ----------
    seconds
        All of it, what lies between the steps included.
    """

    steps: tuple[StepProfile, ...]
    seconds: float

    @property
    def cycles(self) -> int | None:
        """Of all steps that have some; None if none has."""
        known = [each.cycles for each in self.steps if each.cycles is not None]
        return sum(known) if known else None
