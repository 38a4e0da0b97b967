"""The simulated accelerator as a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.hw.isa import Program
from tandem.runtime.aligned_arrays import address_of
from tandem.runtime.artifact import Artifact, PlacedTensor, Step, StreamCode
from tandem.runtime.devices.device import Device, StepFunction
from tandem.runtime.errors import RunError
from tandem.runtime.layer_profiles import StreamRun, profile_layers
from tandem.sim.engine import Engine, Launch
from tandem.sim.memory import place_program

Progress: TypeAlias = Callable[[int], None]


class AcceleratorDevice(Device):
    """The accelerator: executes instruction streams on an engine.

    Parameters
    ----------
    engine
        The simulated machine; the caller closes it.
    progress
        Callback for the progress of a run; see `Launch.progress`.
    name
        The name that steps have for this accelerator: its target's.
    """

    def __init__(
        self, engine: Engine, progress: Progress | None = None, name: str = "accelerator"
    ) -> None:
        self.name = name
        self._engine = engine
        self._progress = progress

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        """Load the instruction streams of the steps, and compile the engine; see `Device.prepare`.

        Raises
        ------
        RunError
            If a stream was compiled for another configuration: names the fields that differ.
        """
        codes = [self.code_of(artifact, step, StreamCode) for step in steps]
        for code in codes:
            _check_config(artifact.manifest.name, code, self._engine)
        self._engine.prepare()
        return [self._load(code) for code in codes]

    def memory_of(self, function: StepFunction, at: int) -> NDArray[Any] | None:
        return function.resident(at) if isinstance(function, LoadedStream) else None

    def _load(self, code: StreamCode) -> StepFunction:
        return LoadedStream(code, self._engine, self._progress)


class LoadedStream:
    """A stream in memory of its own, as a step's function.

    An input that is passed where it lies in this memory (`resident`) is not copied.
    """

    def __init__(self, code: StreamCode, engine: Engine, progress: Progress | None) -> None:
        self._code = code
        self._engine = engine
        self._program = Program.from_bytes(engine.config, code.program)
        self._memory, address = place_program(code.image, self._program)
        self._how = Launch(address=address, events=engine.has_time, progress=progress)
        self._inputs = [code.view(self._memory, tensor) for tensor in code.inputs]
        self._outputs = [code.view(self._memory, tensor) for tensor in code.outputs]
        self._places = [address_of(each) for each in self._inputs]
        self._restored = _gaps(code.inputs, self._inputs, code.image.size)

    def resident(self, at: int) -> NDArray[Any] | None:
        """The memory of an input; None if a run writes something else there, too."""
        own, size = self._code.inputs[at], self._inputs[at].nbytes
        for tensor in (*self._code.inputs, *self._code.outputs, *self._code.contents):
            end = tensor.address + self._code.view(self._memory, tensor).nbytes
            apart = end <= own.address or own.address + size <= tensor.address
            if tensor.name != own.name and not apart:
                return None
        return self._inputs[at]

    def __call__(
        self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]
    ) -> StreamRun:
        """Run the stream."""
        code, memory = self._code, self._memory
        # Restored: earlier runs overwrote parts of the image, interrupted runs any part.
        for begin, end in self._restored:
            memory[begin:end] = code.image[begin:end]
        for own, place, array in zip(self._inputs, self._places, inputs, strict=True):
            if address_of(array) != place:
                np.copyto(own, array)
        result = self._engine.launch(self._program, memory, self._how)
        for own, array in zip(self._outputs, outputs, strict=True):
            np.copyto(array, own)
        layers = profile_layers(code, self._program, result)
        return StreamRun(code, self._program, self._how.address, result, layers)


def _gaps(
    inputs: Sequence[PlacedTensor], arrays: Sequence[NDArray[Any]], size: int
) -> list[tuple[int, int]]:
    """The parts [begin, end) of a memory of some bytes that are no inputs."""
    found, at = [], 0
    spans = sorted(
        (tensor.address, tensor.address + array.nbytes)
        for tensor, array in zip(inputs, arrays, strict=True)
    )
    for begin, end in (*spans, (size, size)):
        if at < begin:
            found.append((at, begin))
        at = max(at, end)
    return found


def _check_config(name: str, code: StreamCode, engine: Engine) -> None:
    differences = code.config.differences(engine.config)
    if differences:
        raise RunError(
            f"{name} was compiled for {code.config.name}, and this is {engine.config.name}: it has "
            f"{', '.join(differences)}"
        )
