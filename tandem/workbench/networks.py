"""Compiled networks, with what they were compiled from.

What compiles is imported where it is used, so that artifacts run without the compiler's libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from tandem.runtime.artifact import Artifact
from tandem.runtime.executor import Run
from tandem.workbench.errors import FallbackError

if TYPE_CHECKING:
    from tandem.compiler.driver.compile_onnx import PreparedNetwork
    from tandem.workbench.devices import Accelerator, TargetDevice
    from tandem.workbench.recorded_choices import TunedLayers

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
        if self.device is None:
            return None
        from tandem.workbench.devices import Accelerator

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
        from tandem.workbench.recorded_choices import TunedLayers

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
        from tandem.workbench.sqnr import sqnr

        outputs = (run.outputs for run in runs)
        return sqnr(zip(outputs, map(real.run, batches), strict=True))
