"""Batch normalisation as part of the weights before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.graph.constant import Constant
from compiler.graph.nodes import Body, Call, Function, Let, Value, Var
from compiler.graph.operators.products import Gemm
from compiler.graph.operators.reductions import Epsilon
from compiler.graph.opspec import OpSpec
from compiler.graph.types import TensorType, Type
from compiler.graph.verify import verify
from compiler.graph.visit import map_bodies, use_counts

__all__ = ["FoldBatchNorm"]

_Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class FoldBatchNorm:
    """Scales the weights of a convolution or a dense layer instead of its result.

    ::

        c = conv2d(x, W, b)
        y = batch_norm(c, scale, bias, mean, variance)

    becomes, with factor = scale / sqrt(variance + epsilon), a number for each output channel::

        y = conv2d(x, W * factor, (b - mean) * factor + bias)

    Weights, bias and statistics have to be constants, and nothing else may use `c`. New weights are
    computed in float64 and rounded once: results differ from the old ones by roundings. Where one
    would be infinite or NaN, all is left as it was.
    """

    name: str = "fold-batch-norm"

    def apply(self, function: Function) -> Function:
        """The function with every normalisation folded that can be."""
        types = verify(function)
        counts = use_counts(function.body)
        return replace(function, body=_body(function.body, {}, types, counts))


def _body(
    body: Body, around: Mapping[str, Call], types: Mapping[str, Type], counts: Mapping[str, int]
) -> Body:
    calls = dict(around)
    lets: list[Let] = []
    for let in body.lets:
        value: Value = map_bodies(let.value, lambda inner: _body(inner, calls, types, counts))
        if isinstance(value, Call):
            folded = _folded(value, calls, types, counts)
            if folded is not None:
                value = folded
            calls[let.name] = value
        lets.append(replace(let, value=value))
    return Body(tuple(lets), body.result)


def _folded(
    call: Call, calls: Mapping[str, Call], types: Mapping[str, Type], counts: Mapping[str, int]
) -> Call | None:
    """The layer that does both, if there is one. What it did alone is dead then."""
    if not _is(call, "batch_norm") or not isinstance(call.attributes, Epsilon):
        return None
    data, *statistics = call.args
    known = [each.array.astype(np.float64) for each in statistics if isinstance(each, Constant)]
    if not isinstance(data, Var) or counts[data.name] != 1 or data.name not in calls:
        return None
    if len(known) != len(statistics):
        return None
    scale, shift, mean, variance = known
    layer, type_ = calls[data.name], types[data.name]
    assert isinstance(type_, TensorType), "verified: it is normalised"
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + call.attributes.epsilon)
        parts = _parts(layer, len(factor))
        if parts is None:
            return None
        weight, axis, bias = parts
        shape = [-1 if each == axis else 1 for each in range(weight.ndim)]
        dtype = type_.dtype.numpy
        arrays = [
            (weight * factor.reshape(shape)).astype(dtype),
            ((bias - mean) * factor + shift).astype(dtype),
        ]
    if not all(np.isfinite(each).all() for each in arrays):
        return None
    attributes = layer.attributes
    if isinstance(attributes, Gemm):
        attributes = replace(attributes, alpha=1.0, beta=1.0)
    return Call(layer.callee, (layer.args[0], *map(Constant, arrays)), attributes)


def _parts(layer: Call, channels: int) -> tuple[_Array, int, _Array] | None:
    """A layer's weights, which of their axes is the output's channels, and its bias, a number for
    each of these; in float64."""
    constants = [each.array for each in layer.args[1:] if isinstance(each, Constant)]
    if not constants or len(constants) != len(layer.args) - 1:
        return None
    weight, *rest = (each.astype(np.float64) for each in constants)
    bias = rest[0] if rest else np.zeros(channels)
    attributes = layer.attributes
    if isinstance(attributes, Gemm) and _is(layer, "gemm"):
        if bias.size not in (1, channels) or bias.shape[-1:] not in ((), (1,), (channels,)):
            # It differs from row to row.
            return None
        axis = 0 if attributes.trans_b else 1
        flat = np.broadcast_to(bias.reshape(-1), (channels,))
        return weight * attributes.alpha, axis, flat * attributes.beta
    if not (_is(layer, "conv2d") or _is(layer, "dense")) or constants[0].dtype.kind != "f":
        return None
    return weight, 0, bias


def _is(call: Call, operator: str) -> bool:
    return isinstance(call.callee, OpSpec) and call.callee.name == operator
