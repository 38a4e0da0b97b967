"""The profile of a run: time, device and work of each step."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.layer_profiles import StreamRun


@dataclass(frozen=True, slots=True)
class StepProfile:
    """The profile of a step.

    Attributes
    ----------
    name
        The graph's name of the step's result.
    operators
        Operators of the graph that the step computes.
    device
        Name of the device.
    macs
        Useful multiply-accumulates.
    seconds
        Wall-clock time.
    run
        The accelerator's measurements; None on another device.
    reason
        Why the step is not on an accelerator; None if it is, or if there was no accelerator.
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
        """Cycles of the accelerator; None on another device, and from an engine without time."""
        return None if self.run is None else self.run.result.cycles


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of a run.

    Attributes
    ----------
    seconds
        Wall-clock time of the whole run, the time between steps included.
    """

    steps: tuple[StepProfile, ...]
    seconds: float

    @property
    def cycles(self) -> int | None:
        """Sum of the cycles of all steps that have cycles; None without any."""
        known = [step.cycles for step in self.steps if step.cycles is not None]
        return sum(known) if known else None
