"""The error of each layer of a quantised network: in all, and the layer's own part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.evaluate import Runner, evaluate
from tandem.compiler.graph.nodes import Function, Var
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import atoms
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.quantise.compressed.products import PRODUCTS
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.layers import QuantisedLayer, layers
from tandem.compiler.quantise.network import has_scales
from tandem.compiler.quantise.points import int8_values, return_values
from tandem.compiler.quantise.quantised import Quantised
from tandem.compiler.quantise.signal_to_noise import SignalToNoise

_Array: TypeAlias = NDArray[Any]
_Arrays: TypeAlias = Mapping[str, _Array]


@dataclass(frozen=True, slots=True)
class LayerError:
    """The error of a layer over samples.

    Attributes
    ----------
    name, tensor, source, operators
        Those of the layer.
    sqnr
        Of the layer in the quantised network: mean square of the real result over the mean square
        of the error, in decibels; infinite without an error.
    own_sqnr
        Of the layer by itself, against the same part of the real network on the same inputs: those
        of the real network, rounded to the scales of the layer's inputs.
    largest
        The largest own error, in quantisation steps; None if the result is not int8.
    clipped
        The fraction of own results at the limits of int8.
    readers
        The names of the layers that read the result in int8.
    only_rounds
        Whether the layer rounds a value to int8 and computes nothing else.
    """

    name: str
    tensor: str
    source: str
    operators: tuple[str, ...]
    sqnr: float
    own_sqnr: float
    largest: float | None
    clipped: float
    readers: tuple[str, ...] = ()
    only_rounds: bool = False

    @property
    def multiplies(self) -> bool:
        """Whether a product is among the operators."""
        return not PRODUCTS.isdisjoint(self.operators)


def layer_errors(
    network: Quantised, samples: Iterable[Sequence[_Array]], run: Runner
) -> tuple[LayerError, ...]:
    """The error of each layer, over all samples of the network's inputs.

    The reference is the real network. A network that states its own scales (QDQ) rounds in its
    real numbers, too: its int8 tensors are compared with its own rounded values.
    """
    found = [_Measured.of(layer, has_scales(network.real)) for layer in layers(network)]
    names = dict.fromkeys(name for each in found for name, _ in each.layer.inputs)
    names |= dict.fromkeys(each.layer.name for each in found)
    names |= dict.fromkeys(param.name for each in found for param in each.layer.real.params)
    # With all calibrated values as results, kernels are those of the calibration.
    values = {let.name for let in network.real.body.lets}
    calibrated = int8_values(network.real, verify(network.real))
    names |= dict.fromkeys(name for name in calibrated if name in values)
    tensors = [each.layer.tensor for each in found]
    real, quantised = (
        return_values(function, wanted)
        for function, wanted in ((network.real, [*names]), (network.function, tensors))
    )
    for sample in samples:
        wanted = _values(real, [*names], sample, run)
        inherited = _values(quantised, tensors, sample, run)
        for measured in found:
            measured.add(wanted, inherited[measured.layer.tensor], run)
    readers = _readers(network.function, [each.layer for each in found])
    return tuple(each.error(readers[each.layer.tensor]) for each in found)


def _readers(function: Function, found: Sequence[QuantisedLayer]) -> dict[str, tuple[str, ...]]:
    """For the result of each layer, the names of the layers that read it in int8: as it is, or
    moved."""
    origins: dict[str, set[str]] = {}
    made = {layer.tensor for layer in found}
    for let in function.body.lets:
        read = [each.name for each in atoms(let.value) if isinstance(each, Var)]
        moved = set[str]().union(*(origins.get(name, set()) for name in read))
        origins[let.name] = {let.name} if let.name in made else moved
    readers: dict[str, dict[str, None]] = {tensor: {} for tensor in made}
    for layer in found:
        for param, (_, scale) in zip(layer.function.params, layer.inputs, strict=True):
            for tensor in origins.get(param.name, ()) if scale is not None else ():
                readers[tensor][layer.name] = None
    return {tensor: tuple(names) for tensor, names in readers.items()}


@dataclass(slots=True)
class _Measured:
    """A layer, and the sums of its errors so far.

    Attributes
    ----------
    function, real
        Those of the layer, as kernels.
    rounds
        Whether the real network rounds, too, so that references are rounded.
    """

    layer: QuantisedLayer
    function: Function
    real: Function
    rounds: bool
    total: SignalToNoise = field(default_factory=SignalToNoise)
    own: SignalToNoise = field(default_factory=SignalToNoise)
    largest: float = 0.0
    clipped: int = 0
    elements: int = 0

    @classmethod
    def of(cls, layer: QuantisedLayer, rounds: bool) -> _Measured:
        """A layer without samples yet."""
        function, real = (transform(each, (Fuse(),)) for each in (layer.function, layer.real))
        return cls(layer, function, real, rounds)

    def add(self, values: _Arrays, inherited: _Array, run: Runner) -> None:
        """Add a sample: the values of the real network, and the layer's result in the other."""
        given = [
            values[name] if scale is None else rounded(values[name], scale)
            for name, scale in self.layer.inputs
        ]
        own = _tensor(self.function, given, run)
        same_inputs = dict(values)
        for (name, scale), array in zip(self.layer.inputs, given, strict=True):
            if scale is not None:
                same_inputs[name] = dequantised(array, scale).astype(np.float32)
        taken = [same_inputs[param.name] for param in self.real.params]
        reference = _tensor(self.real, taken, run)
        self.total.add(self._real(inherited), self._reference(values[self.layer.name]))
        self.own.add(self._real(own), self._reference(reference))
        if self.layer.scale is not None:
            with np.errstate(invalid="ignore"):
                apart = np.abs(self._real(own) - self._reference(reference)).max(initial=0)
            self.largest = max(self.largest, float(apart) / self.layer.scale.step)
            self.clipped += int(np.count_nonzero((own == INT8.low) | (own == INT8.high)))
            self.elements += own.size

    def _real(self, result: _Array) -> _Array:
        """The real numbers of a result of the layer."""
        scale = self.layer.scale
        return result if scale is None else dequantised(result, scale)

    def _reference(self, real: _Array) -> _Array:
        """What a result is compared with."""
        scale = self.layer.scale
        return dequantised(rounded(real, scale), scale) if scale and self.rounds else real

    def error(self, readers: tuple[str, ...]) -> LayerError:
        """The error over all samples."""
        layer = self.layer
        return LayerError(
            layer.name,
            layer.tensor,
            layer.source,
            layer.operators,
            self.total.decibels,
            self.own.decibels,
            None if layer.scale is None else self.largest,
            self.clipped / max(self.elements, 1),
            readers,
            layer.only_rounds,
        )


def rounded(values: _Array, scale: Scale) -> _Array:
    """Values quantised to int8 with a scale; NaN becomes the zero point."""
    near = np.rint(values.astype(np.float64) / scale.step) + scale.zero
    return np.clip(near, INT8.low, INT8.high).astype(np.int8)


def dequantised(values: _Array, scale: Scale) -> NDArray[np.float64]:
    """The real numbers that int8 values of a scale stand for."""
    return (values.astype(np.float64) - scale.zero) * scale.step


def _tensor(function: Function, given: Sequence[_Array], run: Runner) -> _Array:
    """The function's result, a tensor."""
    found = evaluate(function, given, run)
    assert not isinstance(found, tuple), "layers make a tensor"
    return found


def _values(
    function: Function, names: Sequence[str], sample: Sequence[_Array], run: Runner
) -> dict[str, _Array]:
    """The values `names`, which the function returns, for a sample."""
    values = evaluate(function, sample, run)
    assert isinstance(values, tuple), "that is its result"
    pairs = zip(names, values, strict=True)
    return {name: each for name, each in pairs if not isinstance(each, tuple)}
