"""What runs networks: an engine in the accelerator's place, and this processor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from types import MappingProxyType

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.runtime.artifact import Artifact, config_of
from tandem.runtime.devices import AcceleratorDevice, CpuDevice, Device
from tandem.runtime.devices.cuda import CUDA, CudaDevice
from tandem.runtime.devices.opencl import OPENCL, OpenClDevice
from tandem.runtime.executor import Executor, Progress, Run
from tandem.sim.compare import Comparison
from tandem.sim.engine import Engine
from tandem.sim.engines import make_engine, make_pair
from tandem.workbench.networks import Arrays

_GPUS: Mapping[str, Callable[[], Device]] = MappingProxyType(
    {OPENCL: OpenClDevice, CUDA: CudaDevice}
)
"""Devices that are opened for artifacts with steps for them, by the name in steps."""


@dataclass(frozen=True, slots=True)
class Platform:
    """The devices of a run: an engine with its memory model, and the CPU with its threads."""

    engine: str
    memory: MemoryModel
    threads: int | None
    compared: str | None = None
    """A second engine, to compare the first one with."""
    clock: Callable[[], float] = perf_counter
    """What tells the time of steps, in seconds."""

    def run(
        self,
        artifact: Artifact,
        batches: Sequence[Arrays],
        progress: Progress | None = None,
        watch: Collection[str] = (),
        comparisons: list[Comparison] | None = None,
    ) -> tuple[Run, ...]:
        """Run an artifact on each batch.

        With a list of `comparisons`, both engines run, and the comparison of each launch is
        appended.
        """
        with self.executor(artifact, comparisons) as executor:
            return tuple(executor.run(batch, progress, watch) for batch in batches)

    @contextmanager
    def executor(
        self, artifact: Artifact, comparisons: list[Comparison] | None = None
    ) -> Iterator[Executor]:
        """A context with an executor of an artifact; `comparisons` as of `run`."""
        with self._devices(config_of(artifact), comparisons) as devices:
            used = {step.device for step in artifact.manifest.steps}
            devices += [make() for name, make in _GPUS.items() if name in used]
            yield Executor(artifact, devices, self.clock)

    @contextmanager
    def executors(
        self, config: HardwareConfig | None, artifacts: Sequence[Artifact]
    ) -> Iterator[tuple[Executor, ...]]:
        """A context with executors of several artifacts for the accelerator `config`, which share
        one engine; for None, there is none."""
        with self._devices(config, None) as devices:
            yield tuple(Executor(artifact, devices, self.clock) for artifact in artifacts)

    @contextmanager
    def _devices(
        self, config: HardwareConfig | None, comparisons: list[Comparison] | None
    ) -> Iterator[list[Device]]:
        cpu = CpuDevice(self.threads)
        if config is None:
            yield [cpu]
            return
        engine: Engine
        if self.compared is None or comparisons is None:
            engine = make_engine(self.engine, config, self.memory)
        else:
            names = self.engine, self.compared
            engine = make_pair(names, config, self.memory, comparisons.append)
        try:
            yield [AcceleratorDevice(engine), cpu]
        finally:
            engine.close()
