"""What a network loses by its integers, against its real numbers: by layer, and of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from tandem.runtime.artifact import Artifact
from tandem.runtime.executor import Run
from tandem.workbench.labels import Hits, Labels
from tandem.workbench.networks import Network, Report
from tandem.workbench.sqnr import finite

if TYPE_CHECKING:
    from tandem.compiler.driver.compile_onnx import RealNetwork
    from tandem.compiler.quantise.layer_errors import LayerError

_Arrays: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class LayerLosses:
    """The errors of a network's layers over the batches of a run.

    Attributes
    ----------
    in_order
        The errors in the network's order.
    batches
        Number of batches over which they are measured.
    states_scales
        Whether the network states its own scales (QDQ): its real numbers are rounded, too.
    of_noise
        Whether the inputs are random.
    """

    in_order: tuple[LayerError, ...]
    batches: int
    states_scales: bool
    of_noise: bool

    @property
    def worst_first(self) -> tuple[LayerError, ...]:
        """The errors, the layer that loses most by itself first; unknown ones last."""
        return tuple(
            sorted(self.in_order, key=lambda error: (isnan(error.own_sqnr), error.own_sqnr))
        )

    @property
    def reference(self) -> str:
        """What the layers are compared with."""
        if self.states_scales:
            return "the model's own real numbers, rounded where it says"
        return "float32"

    @property
    def samples(self) -> str:
        """What the errors are measured on."""
        batches = "1 batch" if self.batches == 1 else f"{self.batches:,} batches"
        return f"{batches} of noise (--input takes yours)" if self.of_noise else batches

    def of_row(self, name: str) -> dict[str, float | None]:
        """The entries of a layer in the command's JSON: null without an error, or if unknown."""
        found = next((each for each in self.in_order if name in (each.source, each.tensor)), None)
        if found is None:
            return {"sqnr": None, "own_sqnr": None}
        return {"sqnr": finite(found.sqnr), "own_sqnr": finite(found.own_sqnr)}

    def as_json(self) -> list[dict[str, object]]:
        """The entry `layer_errors`, the worst first: of layers within steps of the CPU, too."""
        return [
            {
                "name": error.name,
                "op": "+".join(error.operators),
                "sqnr": finite(error.sqnr),
                "own_sqnr": finite(error.own_sqnr),
                "clipped": error.clipped,
            }
            for error in self.worst_first
        ]


@dataclass(frozen=True, slots=True)
class ClassAccuracy:
    """How often classes are found, in real numbers and in integers; None for what is not known."""

    real: Hits | None
    int8: Hits | None

    def as_json(self) -> dict[str, object]:
        """The entry `accuracy`."""
        return {
            name: None if hits is None else hits.as_json()
            for name, hits in (("float32", self.real), ("int8", self.int8))
        }


def layer_losses(
    network: Network, batches: Sequence[_Arrays], report: Report | None, *, of_noise: bool
) -> LayerLosses:
    """The errors of a network's layers; it was quantised from real numbers."""
    real = _real(network)
    assert real is not None, "quantised"
    if report is not None:
        report("comparing layers with float32")
    return LayerLosses(
        real.layer_errors(batches), len(batches), real.states_scales, of_noise=of_noise
    )


def class_accuracy(
    network: Network, labels: Labels, batches: Sequence[_Arrays], runs: Sequence[Run]
) -> ClassAccuracy:
    """How often the labels are found; in real numbers only where there is a real network."""
    scores = labels.check(network.artifact, len(batches))
    found = scores.hits((run.outputs[scores.output] for run in runs), labels)
    if not _is_quantised(network.artifact):
        return ClassAccuracy(found, None)
    real = _real(network)
    if real is None:
        return ClassAccuracy(None, found)
    outputs = (real.run(batch)[scores.output] for batch in batches)
    return ClassAccuracy(scores.hits(outputs, labels), found)


def _real(network: Network) -> RealNetwork | None:
    return None if network.prepared is None else network.prepared.real


def _is_quantised(artifact: Artifact) -> bool:
    return artifact.manifest.provenance.options.get("quantise") != "none"
