"""The profile of a run: time, device and work of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Protocol, overload

from tandem.runtime.artifact import Step
from tandem.runtime.layer_profiles import StreamRun
from tandem.runtime.measurement import Measurement


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
        The device's measurement; None on a device that measures nothing.
    reason
        Why the step is not on an accelerator; None if it is, or if there was no accelerator.
    """

    name: str
    operators: tuple[str, ...]
    device: str
    macs: int
    seconds: float
    run: Measurement | None = None
    reason: str | None = None

    @property
    def cycles(self) -> int | None:
        """Cycles of the device; None if it counts none."""
        return None if self.run is None else self.run.cycles

    @property
    def stream(self) -> StreamRun | None:
        """The measurement of an accelerator; None on another device."""
        return self.run if isinstance(self.run, StreamRun) else None


class Numbers(Protocol):
    """Whole numbers by index: a sequence, or an array of `ctypes`."""

    def __getitem__(self, index: int, /) -> int: ...


class StepProfiles(Sequence[StepProfile]):
    """The profiles of steps that one native function ran; each is made when it is asked for.

    Parameters
    ----------
    times, counts
        Of each step: nanoseconds, and how often it ran.
    """

    def __init__(self, steps: Sequence[Step], times: Numbers, counts: Numbers) -> None:
        self._steps = steps
        self._times = times
        self._counts = counts

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, index: int) -> StepProfile: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[StepProfile]: ...

    def __getitem__(self, index: int | slice) -> StepProfile | Sequence[StepProfile]:
        if isinstance(index, slice):
            return tuple(self[at] for at in range(len(self))[index])
        step = self._steps[index]
        return StepProfile(
            step.name,
            step.operators,
            step.device,
            step.macs * self._counts[index],
            self._times[index] / 1e9,
            None,
            step.reason or None,
        )


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of a run.

    Attributes
    ----------
    seconds
        Wall-clock time of the whole run, the time between steps included.
    """

    steps: Sequence[StepProfile]
    seconds: float

    @property
    def streams(self) -> tuple[StreamRun, ...]:
        """The launches of the accelerator, in their order."""
        return tuple(step.stream for step in self.steps if step.stream is not None)

    @property
    def cycles(self) -> int | None:
        """Sum of the cycles of all steps that have cycles; None without any."""
        known = [step.cycles for step in self.steps if step.cycles is not None]
        return sum(known) if known else None


def join_steps(steps: Sequence[StepProfile]) -> StepProfile:
    """The profile of several runs of one step: times and counts summed, the first run's events."""
    runs = [step.run for step in steps if step.run is not None]
    return replace(
        steps[0],
        macs=sum(step.macs for step in steps),
        seconds=sum(step.seconds for step in steps),
        run=reduce(lambda first, later: first.with_later(later), runs) if runs else None,
    )
