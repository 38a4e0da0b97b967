"""Networks and the machines that run them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from compiler.build.network import Prepared
from hw.config import HardwareConfig
from hw.memory_model import MemoryModel
from runtime.artifact import Artifact, Tensor, is_artifact, read_artifact
from runtime.devices import AcceleratorDevice, CpuDevice, Device
from runtime.executor import Executor, Progress, Run
from runtime.inputs.network import inputs_of
from scripts.errors import CommandError
from scripts.run.sqnr import sqnr
from scripts.sources import Accelerator, ModelOptions, Source, open_source, targets
from sim.engines import make_engine

__all__ = ["Machine", "Network", "Opened", "Report", "open_model"]

Report: TypeAlias = Callable[[str], None]
Arrays: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Network:
    """What is run: compiled here, if it was a model.

    Attributes
    ----------
    prepared, accelerator
        What it was compiled from and for; None of an artifact that was read.
    """

    artifact: Artifact
    prepared: Prepared | None = None
    accelerator: Accelerator | None = None

    @property
    def model(self) -> str:
        """As it was named."""
        return self.artifact.manifest.provenance.model

    def without_hiding(self, report: Report | None) -> Artifact:
        """The same network with one virtual thread: of a model, something of which is on the
        accelerator."""
        assert self.prepared is not None, "an artifact cannot be compiled once more"
        assert self.accelerator is not None, "something is on it"
        plain = replace(self.accelerator, hiding=False)
        return self.prepared.build(targets(plain), report)

    def on_cpu(self, report: Report | None) -> Artifact:
        """The same network, the CPU doing what the accelerator does: there is something that it
        does."""
        if self.prepared is None:
            if self.artifact.fallback is None:
                raise CommandError(f"--check: the artifact of {self.model} has no code for the CPU")
            return self.artifact.fallback
        assert self.accelerator is not None, "something is on it"
        return self.prepared.build(targets(self.accelerator), report, fallback=True)

    def sqnr(self, batches: Sequence[Arrays], runs: Sequence[Run]) -> dict[str, float] | None:
        """Of runs on these batches, against the network before it was quantised here; None where
        there is no such network."""
        real = None if self.prepared is None else self.prepared.real
        if real is None:
            return None
        outputs = (each.outputs for each in runs)
        return sqnr(zip(outputs, map(real.run, batches), strict=True))


@dataclass(frozen=True, slots=True)
class Opened:
    """What is to be run: what it takes is known, and a model is not compiled yet."""

    what: Artifact | Source

    @property
    def name(self) -> str:
        """As messages call it."""
        match self.what:
            case Artifact(manifest=manifest):
                return manifest.name
            case Source(provenance=provenance):
                return provenance.model

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """By the model's names, in its order."""
        return inputs_of(self.what) if isinstance(self.what, Artifact) else self.what.inputs

    def network(self, accelerator: Accelerator | None, report: Report | None) -> Network:
        """A model is compiled; an artifact is, without an accelerator, what stands for it."""
        if isinstance(self.what, Artifact):
            fallback = self.what.fallback
            return Network(fallback if accelerator is None and fallback else self.what)
        prepared = self.what.prepared(report)
        artifact = prepared.build(targets(accelerator), report)
        return Network(artifact, prepared, accelerator)


def open_model(model: str, options: ModelOptions, report: Report | None) -> Opened:
    """An artifact, for which `options` say nothing, or a model."""
    if is_artifact(Path(model)):
        return Opened(read_artifact(Path(model)))
    return Opened(open_source(model, options, report))


@dataclass(frozen=True, slots=True)
class Machine:
    """An engine with a memory, and a CPU beside it."""

    engine: str
    memory: MemoryModel
    threads: int | None

    def run(
        self,
        artifact: Artifact,
        batches: Sequence[Arrays],
        progress: Progress | None = None,
        watch: Collection[str] = (),
    ) -> tuple[Run, ...]:
        """Runs of an artifact, one for each batch."""
        with self._devices(artifact.config) as devices:
            executor = Executor(artifact, devices)
            return tuple(executor.run(each, progress, watch) for each in batches)

    @contextmanager
    def _devices(self, config: HardwareConfig | None) -> Iterator[list[Device]]:
        cpu = CpuDevice(self.threads)
        if config is None:
            yield [cpu]
            return
        engine = make_engine(self.engine, config, self.memory)
        try:
            yield [AcceleratorDevice(engine), cpu]
        finally:
            engine.close()
