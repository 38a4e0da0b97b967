"""The simulated accelerator as a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hw.isa import Program
from runtime.artifact import Artifact, Step, StreamCall, StreamCode
from runtime.devices.device import Ready
from runtime.errors import RunError
from runtime.layers import StreamRun, profile_layers
from sim.engine import Engine, Launch
from sim.memory import place

__all__ = ["AcceleratorDevice"]

Progress: TypeAlias = Callable[[int], None]


class AcceleratorDevice:
    """Runs instruction streams on an engine.

    Parameters
    ----------
    engine
        The machine; whoever made it closes it.
    progress
        Is told how far a run is, as `Launch.progress`.
    """

    def __init__(self, engine: Engine, progress: Progress | None = None) -> None:
        self.name = "accelerator"
        self._engine = engine
        self._progress = progress

    def accepts(self, step: Step) -> bool:
        """Instruction streams."""
        return isinstance(step, StreamCall)

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[Ready]:
        """As `Device.prepare`.

        Raises
        ------
        RunError
            If the artifact was made for another configuration: says what differs.
        """
        _check_config(artifact, self._engine)
        return [self._ready(artifact.streams[_stream(each)]) for each in steps]

    def _ready(self, code: StreamCode) -> Ready:
        engine = self._engine
        program = Program.from_bytes(engine.config, code.program)
        memory, address = place(code.image, program)
        how = Launch(address=address, events=engine.has_time, progress=self._progress)

        def run(inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> StreamRun:
            # An earlier run has left its own values there, and an interrupted one anything.
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
    fields = [each for each in made.__dataclass_fields__ if each != "name"]
    other = [
        f"{each} {getattr(made, each)} and not {getattr(here, each)}"
        for each in fields
        if getattr(made, each) != getattr(here, each)
    ]
    if other:
        raise RunError(
            f"{name} was compiled for {made.name}, and this is {here.name}: it has "
            f"{', '.join(other)}"
        )
