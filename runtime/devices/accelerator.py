"""The simulated accelerator as a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hw.isa import Program
from runtime.artifact import Artifact, Step, StreamCall, StreamCode
from runtime.devices.device import StepFunction
from runtime.errors import RunError
from runtime.layer_profiles import StreamRun, profile_layers
from sim.engine import Engine, Launch
from sim.memory import place_program

Progress: TypeAlias = Callable[[int], None]


class AcceleratorDevice:
    """The accelerator: executes instruction streams on an engine.

    Parameters
    ----------
    engine
        The simulated machine; the caller closes it.
    progress
        Callback for the progress of a run; see `Launch.progress`.
    """

    def __init__(self, engine: Engine, progress: Progress | None = None) -> None:
        self.name = "accelerator"
        self._engine = engine
        self._progress = progress

    def accepts(self, step: Step) -> bool:
        """Whether the step is an instruction stream."""
        return isinstance(step, StreamCall)

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        """Load the instruction streams of the steps, and compile the engine; see `Device.prepare`.

        Raises
        ------
        RunError
            If the artifact was compiled for another configuration: names the fields that differ.
        """
        _check_config(artifact, self._engine)
        if steps:
            self._engine.prepare()
        return [self._load(artifact.streams[_stream(step)]) for step in steps]

    def _load(self, code: StreamCode) -> StepFunction:
        engine = self._engine
        program = Program.from_bytes(engine.config, code.program)
        memory, address = place_program(code.image, program)
        how = Launch(address=address, events=engine.has_time, progress=self._progress)

        def run(inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> StreamRun:
            # Restored: earlier runs overwrote parts of the image, interrupted runs any part.
            memory[: code.image.size] = code.image
            for tensor, array in zip(code.inputs, inputs, strict=True):
                np.copyto(code.view(memory, tensor), array)
            result = engine.launch(program, memory, how)
            for tensor, array in zip(code.outputs, outputs, strict=True):
                np.copyto(array, code.view(memory, tensor))
            layers = profile_layers(code, program, result)
            return StreamRun(code, program, address, result, layers)

        return run


def _stream(step: Step) -> str:
    assert isinstance(step, StreamCall), "accepted"
    return step.stream


def _check_config(artifact: Artifact, engine: Engine) -> None:
    made, here = artifact.config, engine.config
    if made == here:
        return
    name = artifact.manifest.name
    if made is None:
        raise RunError(f"{name} was compiled for no accelerator")
    differences = made.differences(here)
    if differences:
        raise RunError(
            f"{name} was compiled for {made.name}, and this is {here.name}: it has "
            f"{', '.join(differences)}"
        )
