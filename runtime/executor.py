"""The executor: runs the steps of an artifact on devices."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from time import CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID, perf_counter, thread_time
from types import MappingProxyType
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.aligned_arrays import aligned_arrays, aligned_empty, with_own_memory
from tandem.runtime.artifact import (
    HOST,
    Artifact,
    InPlace,
    Kept,
    Output,
    Step,
    Tensor,
    cut,
)
from tandem.runtime.devices.device import Device, StepFunction
from tandem.runtime.errors import RunError
from tandem.runtime.frame import new_frame
from tandem.runtime.inputs.check import Expected, check_finite, check_inputs, rounded_inputs
from tandem.runtime.inputs.network import inputs_of
from tandem.runtime.measurement import Measurement
from tandem.runtime.native_network import NativeNetwork
from tandem.runtime.profile import Profile, StepProfile, StepProfiles
from tandem.runtime.register_machine import RegisterMachine

_Array: TypeAlias = NDArray[Any]
_CLOCKS: Mapping[Callable[[], float], int] = MappingProxyType(
    {perf_counter: CLOCK_MONOTONIC, thread_time: CLOCK_THREAD_CPUTIME_ID}
)
"""The system's clocks behind Python's, which native code asks itself."""
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
        Each step runs on the device whose name it has; of equal names, on the first.
    clock
        What tells the time of steps and runs, in seconds: wall-clock time by default;
        `time.thread_time` does not count what other programs take.

    Raises
    ------
    RunError
        If a step's device is not there or does not run its code, if the artifact was compiled for
        another machine, or if the memory for its tensors cannot be allocated.
    """

    def __init__(
        self,
        artifact: Artifact,
        devices: Sequence[Device],
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.artifact = artifact
        self._clock = clock
        self._running = Lock()
        by_name = {device.name: device for device in reversed(devices)}
        self._steps = _load_steps(artifact, by_name)
        self._fixed: dict[str, Any] = dict(artifact.constants)
        self._rounded = rounded_inputs(artifact.manifest)
        self._inputs = inputs_of(artifact)
        self._expected = Expected(self._inputs)
        self._tensors = {port.name: port.tensor for port in artifact.manifest.inputs}
        manifest = artifact.manifest
        self._machine = RegisterMachine(artifact, by_name) if manifest.functions else None
        own = {name for function in manifest.functions[1:] for name in function.tensors}
        tensors = [tensor for tensor in manifest.tensors if tensor.name not in own]
        self._fixed |= new_frame(manifest.name, manifest.arena_bytes, tensors, by_name)
        self._outputs = {
            tensor.name: aligned_arrays(tensor.shape, tensor.dtype)
            for tensor in manifest.tensors
            if isinstance(tensor.place, Output)
        }
        self._in_place = {
            tensor.name: tensor.place.input
            for tensor in manifest.tensors
            if isinstance(tensor.place, InPlace)
        }
        self._plain_results = _plain_results(artifact, {*self._outputs, *self._in_place})
        self._network: NativeNetwork | None = None
        if {step.device for step in manifest.steps} == {HOST} and clock in _CLOCKS:
            self._network = by_name[HOST].network(artifact)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs of a run: tensors by the model's names, in the model's order."""
        return self._inputs

    def fits(self, inputs: Mapping[str, Any]) -> TypeGuard[Mapping[str, _Array]]:
        """Whether these are arrays of the inputs' names, shapes and types."""
        return self._expected.fit(inputs)

    def memory_for(self, name: str) -> _Array:
        """An array of zeros for an input, where the device has it that reads the input, so that a
        run with this array copies none of it; in the host's memory where no device has any.

        Its content stays from run to run, but for what steps change of it (`artifact.InPlace`). On
        a device each call gives the same memory.
        """
        (tensor,) = (each for each in self._inputs if each.name == name)
        own = self._tensors[name]
        names = {own, *(each for each, of in self._in_place.items() if of == own)}
        for step, device, execute in self._steps:
            for at, read in enumerate(step.inputs):
                found = device.memory_of(execute, at) if read in names else None
                if found is not None:
                    found[...] = 0
                    return found
        found = aligned_empty(tensor.shape, tensor.dtype)
        found[...] = 0
        return found

    def run(
        self,
        inputs: Mapping[str, _Array],
        progress: Progress | None = None,
        watch: Collection[str] = (),
    ) -> Run:
        """Run the network; the outputs are new arrays, but for those that lie in the memory of
        inputs (`artifact.InPlace`): such an input is given up, and its array becomes the output. An
        array that is read-only, or shares memory with another input, is copied before.

        Parameters
        ----------
        watch
            Names of intermediate tensors to keep in the result.

        Raises
        ------
        InputError
            An input that is missing, unknown, or of another shape or type; NaN or infinity in one
            that the network rounds to integers.
        RunError
            Calls without end; a result larger than it can be, as of a `k` beyond its axis.
        """
        begun = self._clock()
        given = self._input_tensors(inputs)
        new = {name: make() for name, make in self._outputs.items()}
        if self._in_place:
            given = with_own_memory(given, {*self._in_place.values()})
            new |= {name: given[source] for name, source in self._in_place.items()}
        with self._running:
            if self._network is not None and progress is None and not watch:
                return self._whole(self._network, given, new, begun)
            arrays = self._fixed | given | new
            recorder = _Recorder(self._steps, progress, self._watched(watch), self._clock)
            if self._machine is None:
                for number, (step, _, _) in enumerate(self._steps):
                    recorder.run(
                        number,
                        [arrays[name] for name in step.inputs],
                        [arrays[name] for name in step.outputs],
                    )
            else:
                self._machine.run(arrays, recorder.run)
            outputs = _results(self.artifact, arrays, new)
        profile = Profile(recorder.profiles(), self._clock() - begun)
        return Run(outputs, profile, recorder.watched)

    def _whole(
        self,
        network: NativeNetwork,
        given: Mapping[str, _Array],
        new: Mapping[str, _Array],
        begun: float,
    ) -> Run:
        """The run by the network's own code, of inputs and outputs by their tensors."""
        times, counts = network.run({**given, **new}, _CLOCKS[self._clock])
        if self._plain_results is None:
            outputs = _results(self.artifact, ChainMap(dict(new), dict(given), self._fixed), new)
        else:
            outputs = {name: new[tensor] for name, tensor in self._plain_results.items()}
        profiles = StepProfiles(self.artifact.manifest.steps, times, counts)
        return Run(outputs, Profile(profiles, self._clock() - begun), {})

    def _watched(self, names: Collection[str]) -> dict[str, Tensor]:
        tensors = self.artifact.manifest.tensors if names else ()
        return {tensor.name: tensor for tensor in tensors if tensor.name in names}

    def _input_tensors(self, inputs: Mapping[str, _Array]) -> dict[str, _Array]:
        """The inputs by the names of their tensors, checked, dense and aligned."""
        name = self.artifact.manifest.name
        arrays = inputs
        if not self._expected.fit(inputs):
            arrays = {name: np.asarray(array) for name, array in inputs.items()}
            check_inputs(name, self._inputs, arrays)
        if self._rounded:
            check_finite(name, self._rounded, arrays)
        return {self._tensors[each]: _dense(array) for each, array in arrays.items()}


def _dense(array: _Array) -> _Array:
    """The array, or a copy that is dense, row-major and aligned."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, requirements=["C", "A"])


_Loaded: TypeAlias = tuple[Step, Device, StepFunction]
"""A step, its device, and its function on that device."""


class _Recorder:
    """Runs steps, and records their profiles and the watched tensors."""

    def __init__(
        self,
        steps: Sequence[_Loaded],
        progress: Progress | None,
        watch: Mapping[str, Tensor],
        clock: Callable[[], float],
    ) -> None:
        self._clock = clock
        self._steps = steps
        self._progress = progress
        self._watch = watch
        self._counts = [0] * len(steps)
        self._seconds = [0.0] * len(steps)
        self._measured: list[Measurement | None] = [None] * len(steps)
        self.watched: dict[str, _Array] = {}
        """The watched tensors, as they were written last."""

    def run(self, number: int, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Run the step of that number."""
        step, device, execute = self._steps[number]
        if self._progress is not None:
            self._progress(number, len(self._steps), step.name)
        start = self._clock()
        measured = execute(inputs, outputs)
        self._seconds[number] += self._clock() - start
        self._counts[number] += 1
        if self._watch:
            for name, memory in zip(step.outputs, outputs, strict=True):
                if (tensor := self._watch.get(name)) is not None:
                    kept = isinstance(tensor.place, Kept)
                    self.watched[name] = device.read(tensor, memory) if kept else memory.copy()
        if measured is not None:
            earlier = self._measured[number]
            self._measured[number] = measured if earlier is None else earlier.with_later(measured)

    def profiles(self) -> tuple[StepProfile, ...]:
        """The profile of each step; without time and work if it did not run."""
        return tuple(
            StepProfile(
                step.name,
                step.operators,
                step.device,
                step.macs * self._counts[number],
                self._seconds[number],
                self._measured[number],
                step.reason or None,
            )
            for number, (step, _, _) in enumerate(self._steps)
        )


def _load_steps(artifact: Artifact, devices: Mapping[str, Device]) -> list[_Loaded]:
    steps = artifact.manifest.steps
    numbers: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        if step.device not in devices:
            names = ", ".join(devices) or "none"
            raise RunError(f"{step.name} needs the device {step.device}; there are: {names}")
        numbers.setdefault(step.device, []).append(number)
    functions: dict[int, StepFunction] = {}
    for name, own in numbers.items():
        prepared = devices[name].prepare(artifact, [steps[number] for number in own])
        functions |= zip(own, prepared, strict=True)
    return [(step, devices[step.device], functions[number]) for number, step in enumerate(steps)]


def _plain_results(artifact: Artifact, new: Container[str]) -> dict[str, str] | None:
    """The tensors of results by the results' names; None if a result is cut or copied."""
    found = {port.name: port.tensor for port in artifact.manifest.results}
    fresh = all(tensor in new for tensor in found.values())
    if artifact.manifest.counts or not fresh or len({*found.values()}) < len(found):
        return None
    return found


def _results(
    artifact: Artifact, arrays: Mapping[str, _Array], new: Container[str]
) -> dict[str, _Array]:
    """The results by name; all but those in `new` memory are copied, and so are further results of
    one tensor.

    Raises `RunError` if a count is out of range.
    """
    counts: dict[str, dict[int, int]] = {}
    for count in artifact.manifest.counts:
        counts.setdefault(count.result, {})[count.axis] = int(arrays[count.tensor])
    results: dict[str, _Array] = {}
    returned: set[str] = set()
    for port in artifact.manifest.results:
        array = arrays[port.tensor]
        whole = array if port.tensor in new and port.tensor not in returned else array.copy()
        known = counts.get(port.name)
        results[port.name] = cut(f"result {port.name}", whole, known) if known else whole
        returned.add(port.tensor)
    return results
