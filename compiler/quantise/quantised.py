"""A quantised network, beside the one in real numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tandem.compiler.graph.nodes import Function
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights
from tandem.compiler.quantise.forms import Scale


@dataclass(frozen=True, slots=True)
class Quantised:
    """A quantised network, and the network in real numbers.

    Attributes
    ----------
    function
        The quantised network, with the signature of `real`.
    real
        The network in real numbers that was quantised; it means the same as the given one.
    scales
        By int8 tensor of `function`: the name of the value in `real` and the scale.
    weights
        The formats of the layers' weights, in order; empty where all are int8 as wanted.
    """

    function: Function
    real: Function
    scales: Mapping[str, tuple[str, Scale]]
    weights: tuple[LayerWeights, ...] = ()
