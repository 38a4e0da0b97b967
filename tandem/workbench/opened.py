"""Networks to run: models that are imported to be compiled, and artifacts from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from warnings import warn as warn_python

from tandem.runtime.artifact import Artifact, Tensor, is_artifact, read_artifact
from tandem.runtime.inputs.network import inputs_of
from tandem.workbench.devices import Cpu, TargetDevice
from tandem.workbench.models import ModelOptions, Source, import_model
from tandem.workbench.networks import Network, Report


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

    @property
    def takes_integers(self) -> bool:
        """Whether the compiled network takes integers for real numbers of the model."""
        return isinstance(self.source, Source) and self.source.options.integer_ports

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
        prepared = self.source.prepared(report, device)
        device = device.not_slower(prepared, report, warn)
        return Network(device.build(prepared, report), prepared, device)


def open_model(
    model: str, options: ModelOptions, report: Report | None, inputs: Sequence[Path] = ()
) -> Opened:
    """Read an artifact, for which `options` are ignored, or import a model with files of inputs."""
    if is_artifact(Path(model)):
        return Opened(read_artifact(Path(model)))
    return Opened(import_model(model, options, report, inputs))
