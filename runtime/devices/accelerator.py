"""The simulated accelerator as a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.hw.isa import Program
from tandem.runtime.artifact import Artifact, Step, StreamCode
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


def _check_config(name: str, code: StreamCode, engine: Engine) -> None:
    differences = code.config.differences(engine.config)
    if differences:
        raise RunError(
            f"{name} was compiled for {code.config.name}, and this is {engine.config.name}: it has "
            f"{', '.join(differences)}"
        )
