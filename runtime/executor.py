"""Runs of an artifact."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runtime.artifact import (
    Arena,
    Artifact,
    Constant,
    Input,
    KernelCall,
    Output,
    Step,
    Tensor,
)
from runtime.devices.device import Device, Ready
from runtime.errors import RunError
from runtime.inputs.check import check_finite, check_inputs, rounded_inputs
from runtime.inputs.network import inputs_of
from runtime.memory import aligned_empty
from runtime.profile import Profile, StepProfile

__all__ = ["Executor", "Progress", "Run"]

_Array: TypeAlias = NDArray[Any]
Progress: TypeAlias = Callable[[int, int, str], None]
"""Steps that are done, all steps, and the name of the one that begins."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run gave: arrays by name, in the order of the artifact's results, a profile, and the
    tensors within that were asked for."""

    outputs: Mapping[str, _Array]
    profile: Profile
    watched: Mapping[str, _Array]


class Executor:
    """An artifact on devices, loaded once and run any number of times.

    Between runs it keeps nothing but memory that the next run writes before it reads, so that an
    interruption leaves it usable. Runs on several threads wait for each other.

    Parameters
    ----------
    devices
        Each step goes to the first that accepts it.

    Raises
    ------
    RunError
        If no device accepts a step, if the artifact was made for another machine, or if there is no
        memory for its tensors.
    """

    def __init__(self, artifact: Artifact, devices: Sequence[Device]) -> None:
        self.artifact = artifact
        self._running = Lock()
        self._steps = _assigned(artifact, devices)
        self._fixed = dict(artifact.constants)
        self._rounded = rounded_inputs(artifact.manifest)
        manifest = artifact.manifest
        try:
            arena = aligned_empty((manifest.arena_bytes,), "uint8")
        except (MemoryError, ValueError):
            raise RunError(
                f"{manifest.name} needs {manifest.arena_bytes} bytes, more than there is"
            ) from None
        for each in manifest.tensors:
            if isinstance(each.place, Arena):
                part = arena[each.place.offset :][: each.bytes]
                self._fixed[each.name] = part.view(each.dtype).reshape(each.shape)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a run is given: tensors by the model's names, in its order."""
        return inputs_of(self.artifact)

    def run(
        self,
        inputs: Mapping[str, _Array],
        progress: Progress | None = None,
        watch: Collection[str] = (),
    ) -> Run:
        """The network's outputs, in new arrays.

        Parameters
        ----------
        watch
            Names of tensors that steps write, to be kept as well.

        Raises
        ------
        InputError
            An input that is missing, unknown, or of another shape or type; NaN or infinity in one
            that the network rounds to integers.
        """
        begun = perf_counter()
        given = self._given(inputs)
        with self._running:
            arrays = self._fixed | given | _new_outputs(self.artifact)
            steps, watched = [], dict[str, _Array]()
            for number, (step, device, ready) in enumerate(self._steps):
                if progress is not None:
                    progress(number, len(self._steps), step.name)
                start = perf_counter()
                told = ready(
                    [arrays[name] for name in step.inputs], [arrays[name] for name in step.outputs]
                )
                seconds = perf_counter() - start
                watched |= {name: arrays[name].copy() for name in step.outputs if name in watch}
                steps.append(
                    StepProfile(
                        step.name,
                        step.operators,
                        device,
                        step.macs,
                        seconds,
                        told,
                        (step.reason or None) if isinstance(step, KernelCall) else None,
                    )
                )
            outputs = _results(self.artifact, arrays)
        return Run(outputs, Profile(tuple(steps), perf_counter() - begun), watched)

    def _given(self, inputs: Mapping[str, _Array]) -> dict[str, _Array]:
        """The inputs by their tensors' names, dense and aligned."""
        manifest = self.artifact.manifest
        arrays = {name: np.asarray(each) for name, each in inputs.items()}
        check_inputs(manifest.name, self.inputs, arrays)
        check_finite(manifest.name, self._rounded, arrays)
        return {
            each.tensor: np.require(arrays[each.name], requirements=["C", "A"])
            for each in manifest.inputs
        }


def _assigned(artifact: Artifact, devices: Sequence[Device]) -> list[tuple[Step, str, Ready]]:
    """Each step with the name of its device, and ready."""
    chosen: list[Device] = []
    for step in artifact.manifest.steps:
        able = [each for each in devices if each.accepts(step)]
        if not able:
            names = ", ".join(each.name for each in devices) or "none"
            raise RunError(f"no device can run {step.name}; there are: {names}")
        chosen.append(able[0])
    ready: dict[int, Ready] = {}
    for device in dict.fromkeys(chosen):
        numbers = [number for number, each in enumerate(chosen) if each is device]
        steps = [artifact.manifest.steps[number] for number in numbers]
        ready |= zip(numbers, device.prepare(artifact, steps), strict=True)
    return [
        (step, chosen[number].name, ready[number])
        for number, step in enumerate(artifact.manifest.steps)
    ]


def _new_outputs(artifact: Artifact) -> dict[str, _Array]:
    return {
        each.name: aligned_empty(each.shape, each.dtype)
        for each in artifact.manifest.tensors
        if isinstance(each.place, Output)
    }


def _results(artifact: Artifact, arrays: Mapping[str, _Array]) -> dict[str, _Array]:
    """Arrays that are the caller's alone: an input, a constant or a second name is a copy."""
    tensors = {each.name: each for each in artifact.manifest.tensors}
    found: dict[str, _Array] = {}
    taken: set[str] = set()
    for each in artifact.manifest.results:
        array = arrays[each.tensor]
        shared = isinstance(tensors[each.tensor].place, Input | Constant) or each.tensor in taken
        found[each.name] = array.copy() if shared else array
        taken.add(each.tensor)
    return found
