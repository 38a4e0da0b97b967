"""Networks to run: compiled from models, or read from artifacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias
from warnings import warn as warn_python

from numpy.typing import NDArray

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.runtime.artifact import Artifact, Tensor, is_artifact, read_artifact
from tandem.runtime.executor import Run
from tandem.runtime.inputs.network import inputs_of
from tandem.workbench.devices import Accelerator, Cpu, TargetDevice
from tandem.workbench.errors import FallbackError
from tandem.workbench.models import ModelOptions, Source, import_model
from tandem.workbench.recorded_choices import TunedLayers
from tandem.workbench.sqnr import sqnr

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
        """The layers with recorded schedules; None without records."""
        if self.prepared is None or self.device is None or self.device.tuned is None:
            return None
        return TunedLayers.of(self.prepared, self.device)

    def without_hiding(self, report: Report | None) -> Artifact:
        """Compile the same network with one virtual thread; it must have accelerator layers."""
        assert self.prepared is not None, "an artifact cannot be compiled once more"
        assert self.accelerator is not None, "some layer is on the accelerator"
        plain = replace(self.accelerator, hiding=False)
        return plain.build(self.prepared, report)

    def on_cpu(self, report: Report | None) -> Artifact:
        """Compile the same quantised network for the CPU; it must have accelerator layers."""
        if self.prepared is None:
            if self.artifact.fallback is None:
                raise FallbackError(
                    f"the artifact of {self.model} has no code for the CPU to compare with"
                )
            return self.artifact.fallback
        assert self.device is not None, "it was compiled for one"
        return self.prepared.build(self.device.targets(), report, fallback=True)

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

    def network(
        self,
        device: TargetDevice | None = None,
        report: Report | None = None,
        warn: Callable[[str], None] = warn_python,
    ) -> Network:
        """The network, compiled if it is a model, by default for this processor alone; an artifact
        has code for the processor alone, too.

        Parameters
        ----------
        warn
            Called if recorded schedules of the device are not taken.
        """
        device = device or Cpu()
        if isinstance(self.source, Artifact):
            return Network(device.code_of(self.source))
        prepared = self.source.prepared(report)
        device = device.not_slower(prepared, report, warn)
        return Network(device.build(prepared, report), prepared, device)


def open_model(
    model: str, options: ModelOptions, report: Report | None, inputs: Sequence[Path] = ()
) -> Opened:
    """Read an artifact, for which `options` are ignored, or import a model with files of inputs."""
    if is_artifact(Path(model)):
        return Opened(read_artifact(Path(model)))
    return Opened(import_model(model, options, report, inputs))
