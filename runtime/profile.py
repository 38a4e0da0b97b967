"""The profile of a run: time, device and work of each step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as replace_fields

from runtime.layer_profiles import LayerProfile, StreamRun


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
    def streams(self) -> tuple[StreamRun, ...]:
        """The launches of the accelerator, in their order."""
        return tuple(step.run for step in self.steps if step.run is not None)

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
        run=join_streams(runs) if runs else None,
    )


def join_streams(runs: Sequence[StreamRun]) -> StreamRun:
    """Runs of one stream as one: times and counts summed, the first run's events."""
    results = [run.result for run in runs]
    total = replace(
        results[0],
        cycles=_sum(result.cycles for result in results),
        seconds=sum(result.seconds for result in results),
    )
    layers = zip(*(run.layers for run in runs), strict=True)
    return replace(runs[0], result=total, layers=tuple(map(_layer, layers)))


def _layer(layers: tuple[LayerProfile, ...]) -> LayerProfile:
    first = layers[0]
    macs = sum(profile.layer.macs for profile in layers)
    traffic = sum(profile.layer.least_bytes for profile in layers)
    return replace(
        first,
        layer=replace_fields(first.layer, macs=macs, least_bytes=traffic),
        cycles=_sum(profile.cycles for profile in layers),
        causes={cause: sum(profile.causes[cause] for profile in layers) for cause in first.causes},
        loaded=sum(profile.loaded for profile in layers),
        stored=sum(profile.stored for profile in layers),
        instructions=sum(profile.instructions for profile in layers),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = list(numbers)
    return None if None in known else sum(number or 0 for number in known)
