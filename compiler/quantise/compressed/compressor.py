"""Compression of the weights of layers, each once for a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.quantise.compressed.calibrated import Gram
from tandem.compiler.quantise.compressed.coded import CodedWeights
from tandem.compiler.quantise.compressed.layer_weights import LayerWeights
from tandem.compiler.quantise.compressed.rounding import coded_weights
from tandem.compiler.quantise.options import Mode
from tandem.hw.weight_formats import WeightFormat


@dataclass(frozen=True, slots=True)
class LayerFormat:
    """The format of a layer's weights, and the input channels that have one scale."""

    form: WeightFormat
    group: int


@dataclass(frozen=True, slots=True, eq=False)
class Compressor:
    """Rounds weights of layers, and remembers what it has rounded.

    Attributes
    ----------
    gram
        The products of the columns of a layer's data by its name; None to round to the nearest.
    mode
        Of the scales of channels.
    """

    gram: Callable[[str], Gram | None]
    mode: Mode
    _made: dict[tuple[str, LayerFormat], CodedWeights] = field(default_factory=dict)

    def coded(
        self, name: str, how: LayerFormat, weights: NDArray[Any], least: NDArray[np.float64]
    ) -> CodedWeights:
        """The weights [C, I, ...] of the layer `name`, which has one array of weights; scales of
        channels are at least `least`."""
        found = self._made.get((name, how))
        if found is None or (found.channel_scales < least).any():
            found = self._made[name, how] = coded_weights(
                weights, how.form, how.group, gram=self.gram(name), least=least, mode=self.mode
            )
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Compression:
    """The formats of the layers of a network, and what rounds their weights.

    Attributes
    ----------
    formats
        By the name of a layer; a layer without one has int8 weights.
    reasons
        Why layers have the formats that they have, or none, by name.
    tensors
        The name of a layer by which it has a format, by its name in a function.
    """

    compressor: Compressor
    formats: Mapping[str, LayerFormat] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    tensors: Mapping[str, str] = field(default_factory=dict)

    def renamed(self, tensors: Mapping[str, str]) -> Compression:
        """The formats for a function whose values have these names elsewhere."""
        return replace(self, tensors=tensors)

    def coded(
        self, name: str, weights: NDArray[Any], least: NDArray[np.float64]
    ) -> CodedWeights | None:
        """A layer's weights in its format; None for int8."""
        tensor = self.tensors.get(name, name)
        how = self.formats.get(tensor)
        return None if how is None else self.compressor.coded(tensor, how, weights, least)

    def stored(self, name: str, weights: NDArray[Any], coded: CodedWeights | None) -> LayerWeights:
        """What a layer's weights are stored as, for reports; parameters and result of `coded`."""
        tensor = self.tensors.get(name, name)
        reason = self.reasons.get(tensor, "")
        if coded is None:
            return LayerWeights(tensor, "int8", None, weights.size, weights.size * 8, reason)
        group = coded.group if coded.form.scaled else None
        return LayerWeights(tensor, coded.form.name, group, weights.size, coded.bits, reason)
