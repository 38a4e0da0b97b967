"""The signal-to-noise ratio of a network's results against those of the network in real numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.evaluate import NestedArray, Runner, evaluate
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.passes import Fuse, WidenWeights, transform
from tandem.compiler.quantise.signal_to_noise import SignalToNoise


@dataclass(frozen=True, slots=True, eq=False)
class NetworkLoss:
    """Samples, and what the network in real numbers gives for them."""

    samples: Sequence[Sequence[NestedArray]]
    wanted: Sequence[NestedArray]
    run: Runner

    @classmethod
    def of(
        cls, real: Function, samples: Sequence[Sequence[NestedArray]], run: Runner
    ) -> NetworkLoss:
        """The samples with their results.

        Raises
        ------
        QuantisationError
            The network has no result of floats.
        """
        fused = transform(real, (Fuse(),))
        wanted = [evaluate(fused, sample, run) for sample in samples]
        if not any(array.dtype.kind == "f" for value in wanted for array in _arrays(value)):
            raise QuantisationError(
                "the loss of weights is that of results in floats, and the network has none"
            )
        return cls(samples, wanted, run)

    def decibels(self, function: Function) -> float:
        """The ratio of a quantised network, over the results of floats of all samples."""
        # Weights are widened once, not for each sample.
        passes = (WidenWeights(lambda _, __: False), Fuse())
        fused, total = transform(function, passes), SignalToNoise()
        for sample, wanted in zip(self.samples, self.wanted, strict=True):
            found = evaluate(fused, sample, self.run)
            for own, real in zip(_arrays(found), _arrays(wanted), strict=True):
                if real.dtype.kind == "f":
                    total.add(own, real)
        return total.decibels


def _arrays(value: NestedArray) -> list[NDArray[Any]]:
    if isinstance(value, tuple):
        return [array for item in value for array in _arrays(item)]
    return [value]
