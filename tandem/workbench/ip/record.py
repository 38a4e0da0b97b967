"""Records the launches of a network's run, by executing its streams on the engine `cycle`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.hw.isa import Program
from tandem.hw.memory_model import DEFAULT_MEMORY, MemoryModel
from tandem.runtime.artifact import (
    Artifact,
    PlacedTensor,
    Step,
    StreamCode,
    Tensor,
    streams_of,
)
from tandem.runtime.devices import CpuDevice
from tandem.runtime.devices.device import Device, StepFunction
from tandem.runtime.executor import Executor
from tandem.sim.engine import Engine, Launch
from tandem.sim.engines import make_engine
from tandem.sim.memory import place_program
from tandem.workbench.ip.launches import RecordedLaunch, Transfer


class RecordingDevice(Device):
    """An accelerator that keeps a copy of what each launch reads and writes.

    As on the C runtime, the memory of a stream is loaded once, and keeps what launches leave there.
    """

    def __init__(self, name: str, engine: Engine) -> None:
        self.name = name
        self.launches: list[RecordedLaunch] = []
        self._engine = engine
        self._memories: dict[str, tuple[Program, NDArray[np.uint8], int]] = {}

    def prepare(self, artifact: Artifact, steps: Sequence[Step]) -> Sequence[StepFunction]:
        """Load the streams of the steps."""
        described = {tensor.name: tensor for tensor in artifact.manifest.tensors}
        return [
            self._load(step, self.code_of(artifact, step, StreamCode), described) for step in steps
        ]

    def _load(self, step: Step, code: StreamCode, described: Mapping[str, Tensor]) -> StepFunction:
        if step.code not in self._memories:
            program = Program.from_bytes(code.config, code.program)
            self._memories[step.code] = (program, *place_program(code.image, program))
        program, memory, address = self._memories[step.code]

        def copied(tensors: Sequence[PlacedTensor], names: Sequence[str]) -> tuple[Transfer, ...]:
            return tuple(
                Transfer(
                    tensor,
                    code.view(memory, tensor).copy(),
                    described[name].padded,
                    described[name].windows,
                )
                for tensor, name in zip(tensors, names, strict=True)
            )

        def run(inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> None:
            for tensor, array in zip(code.inputs, inputs, strict=True):
                np.copyto(code.view(memory, tensor), array)
            before = copied(code.inputs, step.inputs)
            result = self._engine.launch(program, memory, Launch(address=address))
            for tensor, array in zip(code.outputs, outputs, strict=True):
                np.copyto(array, code.view(memory, tensor))
            after = copied(code.outputs, step.outputs)
            self.launches.append(RecordedLaunch(step.code, before, after, result.cycles))

        return run


def record_launches(
    artifact: Artifact,
    batch: Mapping[str, NDArray[Any]],
    memory: MemoryModel = DEFAULT_MEMORY,
) -> tuple[RecordedLaunch, ...]:
    """The launches of a run, in their order; none without an accelerator.

    Parameters
    ----------
    artifact
        Its code for the CPU must be for this processor.
    memory
        The memory that the cycles of launches are for.
    """
    codes = streams_of(artifact)
    if not codes:
        return ()
    first = next(iter(codes.values()))
    (name,) = {step.device for step in artifact.manifest.steps if step.code in codes}
    engine = make_engine("cycle", first.config, memory)
    try:
        device = RecordingDevice(name, engine)
        Executor(artifact, [CpuDevice(1), device]).run(batch)
    finally:
        engine.close()
    return tuple(device.launches)
