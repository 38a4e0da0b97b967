"""The error of each layer of a quantised network."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.graph.evaluate import Runner, evaluate
from compiler.graph.nodes import Body, Call, Function, Let, Param, Var
from compiler.graph.opspec import OpSpec
from compiler.graph.passes import Fuse, transform
from compiler.graph.verify import verify
from compiler.graph.visit import atoms
from compiler.ir.dtypes import INT8
from compiler.quantise.forms import Scale
from compiler.quantise.network import Quantised
from compiler.quantise.points import return_values

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Layer:
    """A part of a quantised network: from int8 tensors to the next int8 tensor or the result.

    Attributes
    ----------
    name
        The value of the real network that the result stands for.
    operators
        The layer's operators, without those that only change types.
    function
        From int8 operands to the int8 result, or to a float result at the network's end.
    inputs
        The values of the real network that the parameters stand for, and their scales.
    scale
        Scale of the result; None if the result is float32.
    """

    name: str
    operators: tuple[str, ...]
    function: Function
    inputs: tuple[tuple[str, Scale], ...]
    scale: Scale | None


@dataclass(frozen=True, slots=True)
class LayerError:
    """The error of a layer whose inputs are those of the real network, rounded to their scales.

    Attributes
    ----------
    sqnr
        Mean square of the real result over the mean square of the error, in decibels.
    largest
        The largest error, in quantisation steps; None if the result is float32.
    clipped
        The fraction of results at the limits of int8.
    """

    name: str
    operators: tuple[str, ...]
    sqnr: float
    largest: float | None
    clipped: float


_PLUMBING = ("cast", "dequantise", "identity", "quantise", "requantise")


def layers(network: Quantised) -> Iterator[Layer]:
    """All layers, in order: a layer ends at the next int8 tensor, or at the network's result."""
    types = verify(network.function)
    lets = {each.name: each for each in network.function.body.lets}
    ends = [name for name in lets if name in network.scales]
    result = network.function.body.result
    if isinstance(result, Var) and result.name in lets and result.name not in network.scales:
        ends.append(result.name)
    for end in ends:
        own, found = _back(end, lets, network.scales)
        if len(own) == 1 and _operator(own[0]) in ("dequantise", "quantise"):
            continue
        inputs = [each for each in found if each in network.scales]
        if len(inputs) != len(found):
            # The operators also read float values: not an integer layer.
            continue
        params = tuple(Param(each, types[each]) for each in inputs)
        body = Body(tuple(own), Var(end))
        name, scale = network.scales.get(end, (end, None))
        operators = tuple(each for each in map(_operator, own) if each not in _PLUMBING)
        scales = tuple(network.scales[each] for each in inputs)
        yield Layer(name, operators, Function("layer", params, body), scales, scale)


def _back(
    end: str, lets: Mapping[str, Let], scales: Mapping[str, object]
) -> tuple[list[Let], list[str]]:
    """The operators between a value and the nearest int8 tensors before it, and these tensors."""
    own: set[str] = set()
    inputs: dict[str, None] = {}
    waiting = [end]
    while waiting:
        name = waiting.pop()
        if name in own:
            continue
        if name not in lets or (name in scales and name != end):
            inputs[name] = None
            continue
        own.add(name)
        waiting += [each.name for each in atoms(lets[name].value) if isinstance(each, Var)]
    return [each for name, each in lets.items() if name in own], list(inputs)


def _operator(let: Let) -> str:
    value = let.value
    if isinstance(value, Call) and isinstance(value.callee, OpSpec):
        return value.callee.name
    return "?"


def errors(network: Quantised, sample: Sequence[Array], run: Runner) -> tuple[LayerError, ...]:
    """The error of each layer by itself, on one sample of the network's inputs."""
    found = list(layers(network))
    names = dict.fromkeys(each for layer in found for each, _ in layer.inputs)
    names |= dict.fromkeys(layer.name for layer in found)
    real = _values(network.real, tuple(names), sample, run)
    return tuple(_error(layer, real, run) for layer in found)


def _values(
    function: Function, names: Sequence[str], sample: Sequence[Array], run: Runner
) -> dict[str, Array]:
    """The values `names` of the function, for a sample."""
    values = evaluate(return_values(function, names), sample, run)
    assert isinstance(values, tuple), "that is its result"
    pairs = zip(names, values, strict=True)
    return {name: each for name, each in pairs if not isinstance(each, tuple)}


def rounded(values: Array, scale: Scale) -> Array:
    """Values quantised to int8 with a scale."""
    near = np.rint(values.astype(np.float64) / scale.step) + scale.zero
    found: Array = np.clip(near, INT8.low, INT8.high).astype(np.int8)
    return found


def _error(layer: Layer, real: Mapping[str, Array], run: Runner) -> LayerError:
    given = [rounded(real[name], scale) for name, scale in layer.inputs]
    found = evaluate(transform(layer.function, (Fuse(),)), given, run)
    assert not isinstance(found, tuple), "layers make a tensor"
    wanted = real[layer.name].astype(np.float64)
    clipped, got = 0.0, found.astype(np.float64)
    if layer.scale is not None:
        clipped = float(np.mean((found == INT8.low) | (found == INT8.high)))
        got = (got - layer.scale.zero) * layer.scale.step
    off = got - wanted
    noise, signal = float(np.mean(off**2)), float(np.mean(wanted**2))
    sqnr = math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal else -math.inf
    largest = float(np.abs(off).max(initial=0))
    steps = None if layer.scale is None else largest / layer.scale.step
    return LayerError(layer.name, layer.operators, sqnr, steps, clipped)


def show_errors(found: Sequence[LayerError]) -> str:
    """A table, a line for each layer."""
    lines = [f"{'layer':24} {'SQNR dB':>8} {'largest':>8} {'clipped':>8}  operators"]
    for error in found:
        largest = "" if error.largest is None else f"{error.largest:8.2f}"
        operators = ", ".join(error.operators)
        lines.append(
            f"{error.name:24} {error.sqnr:8.2f} {largest:>8} {error.clipped:8.2%}  {operators}"
        )
    return "\n".join(lines) + "\n"
