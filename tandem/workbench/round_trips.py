"""What leaves the accelerator in the middle of a network, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tandem.runtime.artifact import Artifact, Step, StreamCode
from tandem.runtime.profile import StepProfile
from tandem.workbench.step_operators import LAYOUTS


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The steps of the CPU between two launches of the accelerator.

    Attributes
    ----------
    after, before
        The last layer of the launch before, and the first one of the launch after.
    operators
        The operators of the CPU's steps.
    bytes_to_cpu, bytes_to_accelerator
        The sizes of the accelerator's results that the steps read, and of their results that it
        reads.
    seconds, layout_seconds
        Wall-clock time of the steps, and of those that only change layouts; None without a run.
    """

    after: str
    before: str
    operators: tuple[str, ...]
    bytes_to_cpu: int
    bytes_to_accelerator: int
    seconds: float | None
    layout_seconds: float | None

    def as_json(self) -> dict[str, object]:
        """An entry of `round_trips` in the command's JSON."""
        return {
            "after": self.after,
            "before": self.before,
            "op": "+".join(self.operators),
            "bytes_to_cpu": self.bytes_to_cpu,
            "bytes_to_accelerator": self.bytes_to_accelerator,
            "seconds": self.seconds,
            "layout_seconds": self.layout_seconds,
        }


def round_trips(artifact: Artifact, profiles: Sequence[StepProfile] = ()) -> tuple[RoundTrip, ...]:
    """The round trips of a network, in order; none of a network with control flow, whose steps
    have no fixed order.

    Parameters
    ----------
    profiles
        Those of a run's steps; empty without a run.
    """
    manifest = artifact.manifest
    if manifest.functions:
        return ()
    steps = manifest.steps
    launches = [number for number, step in enumerate(steps) if not step.on_host]
    sizes = {tensor.name: tensor.bytes for tensor in manifest.tensors}
    found = []
    for start, end in pairwise(launches):
        numbers = range(start + 1, end)
        own = [steps[number] for number in numbers]
        if not own:
            continue
        before, after = steps[: start + 1], steps[end:]
        made = {name for step in before if not step.on_host for name in step.outputs}
        wanted = {name for step in after if not step.on_host for name in step.inputs}
        read = {name for step in own for name in step.inputs}
        written = {name for step in own for name in step.outputs}
        seconds = {number: profiles[number].seconds for number in numbers if profiles}
        layouts = [each for each in numbers if LAYOUTS.issuperset(steps[each].operators)]
        found.append(
            RoundTrip(
                _layers(artifact, steps[start])[-1],
                _layers(artifact, steps[end])[0],
                tuple(operator for step in own for operator in step.operators),
                _size(read & made, sizes),
                _size(written & wanted, sizes),
                sum(seconds.values()) if profiles else None,
                sum(seconds[number] for number in layouts) if profiles else None,
            )
        )
    return tuple(found)


def _layers(artifact: Artifact, step: Step) -> tuple[str, ...]:
    code = artifact.code[step.code]
    layers = code.layers if isinstance(code, StreamCode) else ()
    return tuple(layer.name for layer in layers) or (step.name,)


def _size(names: set[str], sizes: Mapping[str, int]) -> int:
    return sum(sizes[name] for name in names)
