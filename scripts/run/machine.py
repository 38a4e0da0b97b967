"""Networks to run, and the machine that runs them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

from numpy.typing import NDArray

from compiler.driver.compile_onnx import PreparedNetwork
from hw.config import HardwareConfig
from hw.memory_model import MemoryModel
from runtime.artifact import Artifact, Tensor, is_artifact, read_artifact
from runtime.devices import AcceleratorDevice, CpuDevice, Device
from runtime.executor import Executor, Progress, Run
from runtime.inputs.network import inputs_of
from scripts.errors import CommandError
from scripts.run.sqnr import sqnr
from scripts.sources import (
    Accelerator,
    ModelOptions,
    Processor,
    Source,
    TargetDevice,
    import_model,
    targets,
)
from scripts.tuned import TunedLayers, not_slower
from sim.compare import Comparison
from sim.engine import Engine
from sim.engines import make_engine, make_pair

Report: TypeAlias = Callable[[str], None]
Arrays: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Network:
    """A compiled network.

    Attributes
    ----------
    prepared, device
        The model and the device given to the compiler; None for an artifact from a file.
    """

    artifact: Artifact
    prepared: PreparedNetwork | None = None
    device: TargetDevice | None = None

    @property
    def accelerator(self) -> Accelerator | None:
        """The accelerator that the model was compiled for, if it was for one."""
        return self.device if isinstance(self.device, Accelerator) else None

    @property
    def model(self) -> str:
        """The model's name."""
        return self.artifact.manifest.provenance.model

    @property
    def tuned(self) -> TunedLayers | None:
        """The layers with recorded schedules; None without `--records`."""
        if self.prepared is None or self.device is None or self.device.tuned is None:
            return None
        return TunedLayers.of(self.prepared, self.device)

    def without_hiding(self, report: Report | None) -> Artifact:
        """Compile the same network with one virtual thread; it must have accelerator layers."""
        assert self.prepared is not None, "an artifact cannot be compiled once more"
        assert self.accelerator is not None, "some layer is on the accelerator"
        plain = replace(self.accelerator, hiding=False)
        return self.prepared.build(targets(plain), report)

    def on_cpu(self, report: Report | None) -> Artifact:
        """Compile the same quantised network for the CPU; it must have accelerator layers."""
        if self.prepared is None:
            if self.artifact.fallback is None:
                raise CommandError(f"--check: the artifact of {self.model} has no code for the CPU")
            return self.artifact.fallback
        assert self.accelerator is not None, "some layer is on the accelerator"
        return self.prepared.build(targets(self.accelerator), report, fallback=True)

    def sqnr(self, batches: Sequence[Arrays], runs: Sequence[Run]) -> dict[str, float] | None:
        """SQNR in dB of each output of `runs` against the unquantised network; None if that is
        unknown, as of a model that was quantised before.
        """
        real = None if self.prepared is None else self.prepared.real
        if real is None or real.states_scales:
            return None
        outputs = (run.outputs for run in runs)
        return sqnr(zip(outputs, map(real.run, batches), strict=True))


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened network: an artifact, or an imported model that is not compiled yet."""

    source: Artifact | Source

    @property
    def name(self) -> str:
        """The network's name in messages."""
        match self.source:
            case Artifact(manifest=manifest):
                return manifest.name
            case Source(provenance=provenance):
                return provenance.model

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input tensors, by the model's names and in the model's order; with inputs that became
        constants."""
        source = self.source
        return inputs_of(source) if isinstance(source, Artifact) else source.every_input

    @property
    def constants(self) -> frozenset[str]:
        """The names of inputs that became constants."""
        source = self.source
        return (
            frozenset[str]() if isinstance(source, Artifact) else frozenset(source.imported.bound)
        )

    def network(self, device: TargetDevice | None, report: Report | None) -> Network:
        """The network, compiled if it is a model, by default for this processor alone; an artifact
        without an accelerator gives its CPU fallback.
        """
        device = device or Processor()
        if isinstance(self.source, Artifact):
            fallback = self.source.fallback
            on_cpu = isinstance(device, Processor)
            return Network(fallback if on_cpu and fallback else self.source)
        prepared = self.source.prepared(report)
        if isinstance(device, Accelerator):
            device = not_slower(prepared, device, report)
        artifact = prepared.build(targets(device), report)
        return Network(artifact, prepared, device)


def open_model(
    model: str, options: ModelOptions, report: Report | None, inputs: Sequence[Path] = ()
) -> Opened:
    """Read an artifact, for which `options` are ignored, or import a model with files of inputs."""
    if is_artifact(Path(model)):
        return Opened(read_artifact(Path(model)))
    return Opened(import_model(model, options, report, inputs))


@dataclass(frozen=True, slots=True)
class Machine:
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
        with self._devices(artifact.config, comparisons) as devices:
            executor = Executor(artifact, devices, self.clock)
            return tuple(executor.run(batch, progress, watch) for batch in batches)

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
