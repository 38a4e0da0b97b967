"""The executor: runs the steps of an artifact on devices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runtime.aligned_arrays import aligned_empty
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
from runtime.devices.device import Device, StepFunction
from runtime.errors import RunError
from runtime.inputs.check import check_finite, check_inputs, rounded_inputs
from runtime.inputs.network import inputs_of
from runtime.profile import Profile, StepProfile

_Array: TypeAlias = NDArray[Any]
Progress: TypeAlias = Callable[[int, int, str], None]
"""Progress callback: number of finished steps, number of all steps, name of the next step."""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run.

    Attributes
    ----------
    outputs
        Arrays by name, in the order of the artifact's results.
    profile
        Time and work of each step.
    watched
        The intermediate tensors named in `watch`, by name.
    """

    outputs: Mapping[str, _Array]
    profile: Profile
    watched: Mapping[str, _Array]


class Executor:
    """An artifact loaded on devices, to be run any number of times.

    No state lasts from one run to the next: all memory is written before it is read, so that an
    interrupted executor stays usable. Concurrent runs are serialised.

    Parameters
    ----------
    devices
        Each step is assigned to the first device that accepts it.

    Raises
    ------
    RunError
        If no device accepts a step, if the artifact was compiled for another machine, or if the
        memory for its tensors cannot be allocated.
    """

    def __init__(self, artifact: Artifact, devices: Sequence[Device]) -> None:
        self.artifact = artifact
        self._running = Lock()
        self._steps = _load_steps(artifact, devices)
        self._fixed = dict(artifact.constants)
        self._rounded = rounded_inputs(artifact.manifest)
        manifest = artifact.manifest
        try:
            arena = aligned_empty((manifest.arena_bytes,), "uint8")
        except (MemoryError, ValueError):
            raise RunError(
                f"{manifest.name} needs {manifest.arena_bytes} bytes, more than there is"
            ) from None
        for tensor in manifest.tensors:
            if isinstance(tensor.place, Arena):
                part = arena[tensor.place.offset :][: tensor.bytes]
                self._fixed[tensor.name] = part.view(tensor.dtype).reshape(tensor.shape)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs of a run: tensors by the model's names, in the model's order."""
        return inputs_of(self.artifact)

    def run(
        self,
        inputs: Mapping[str, _Array],
        progress: Progress | None = None,
        watch: Collection[str] = (),
    ) -> Run:
        """Run the network; the outputs are new arrays.

        Parameters
        ----------
        watch
            Names of intermediate tensors to keep in the result.

        Raises
        ------
        InputError
            An input that is missing, unknown, or of another shape or type; NaN or infinity in one
            that the network rounds to integers.
        """
        begun = perf_counter()
        input_arrays = self._input_tensors(inputs)
        with self._running:
            arrays = self._fixed | input_arrays | _new_outputs(self.artifact)
            steps, watched = [], dict[str, _Array]()
            for number, (step, device, execute) in enumerate(self._steps):
                if progress is not None:
                    progress(number, len(self._steps), step.name)
                start = perf_counter()
                stream_run = execute(
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
                        stream_run,
                        (step.reason or None) if isinstance(step, KernelCall) else None,
                    )
                )
            outputs = _results(self.artifact, arrays)
        return Run(outputs, Profile(tuple(steps), perf_counter() - begun), watched)

    def _input_tensors(self, inputs: Mapping[str, _Array]) -> dict[str, _Array]:
        """The inputs by the names of their tensors, checked, dense and aligned."""
        manifest = self.artifact.manifest
        arrays = {name: np.asarray(array) for name, array in inputs.items()}
        check_inputs(manifest.name, self.inputs, arrays)
        check_finite(manifest.name, self._rounded, arrays)
        return {
            port.tensor: np.require(arrays[port.name], requirements=["C", "A"])
            for port in manifest.inputs
        }


def _load_steps(
    artifact: Artifact, devices: Sequence[Device]
) -> list[tuple[Step, str, StepFunction]]:
    """Each step with the name of its device and its function on that device."""
    chosen: list[Device] = []
    for step in artifact.manifest.steps:
        candidates = [device for device in devices if device.accepts(step)]
        if not candidates:
            names = ", ".join(device.name for device in devices) or "none"
            raise RunError(f"no device can run {step.name}; there are: {names}")
        chosen.append(candidates[0])
    functions: dict[int, StepFunction] = {}
    for device in dict.fromkeys(chosen):
        numbers = [number for number, owner in enumerate(chosen) if owner is device]
        steps = [artifact.manifest.steps[number] for number in numbers]
        functions |= zip(numbers, device.prepare(artifact, steps), strict=True)
    return [
        (step, chosen[number].name, functions[number])
        for number, step in enumerate(artifact.manifest.steps)
    ]


def _new_outputs(artifact: Artifact) -> dict[str, _Array]:
    return {
        tensor.name: aligned_empty(tensor.shape, tensor.dtype)
        for tensor in artifact.manifest.tensors
        if isinstance(tensor.place, Output)
    }


def _results(artifact: Artifact, arrays: Mapping[str, _Array]) -> dict[str, _Array]:
    """The results by name; inputs, constants and tensors of several results are copied."""
    tensors = {tensor.name: tensor for tensor in artifact.manifest.tensors}
    results: dict[str, _Array] = {}
    returned: set[str] = set()
    for port in artifact.manifest.results:
        array = arrays[port.tensor]
        shared = isinstance(tensors[port.tensor].place, Input | Constant) or port.tensor in returned
        results[port.name] = array.copy() if shared else array
        returned.add(port.tensor)
    return results
