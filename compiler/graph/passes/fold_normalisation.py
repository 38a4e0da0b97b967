"""Folding of normalisation into the weights of the preceding layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Body, Call, Function, Let, Value, Var
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.types import TensorType, Type
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import map_bodies, map_functions, use_counts


@dataclass(frozen=True, slots=True)
class FoldNormalisation:
    """Scales the weights of a linear layer instead of its result.

    ::

        c = linear(x, W, b)
        y = affine(c, ...)

    becomes, with numbers for each index of axis 1::

        y = linear(x, W * factor, (b - centre) * factor + addend)

    `OpSpec` declares which operators are linear or affine. All operands but the first have to be
    constants, and `c` must have no other use. New weights are computed in float64 and rounded once:
    results change by rounding errors. A layer is not changed if a new weight would be infinite or
    NaN.
    """

    name: str = "fold-normalisation"

    def apply(self, function: Function) -> Function:
        """The function with normalisations folded where possible."""
        verify(function)
        return map_functions(
            function,
            lambda one: replace(one, body=_body(one.body, {}, infer(one), use_counts(one.body))),
        )


def _body(
    body: Body, around: Mapping[str, Call], types: Mapping[str, Type], counts: Mapping[str, int]
) -> Body:
    calls = dict(around)
    lets: list[Let] = []
    for let in body.lets:
        value: Value = map_bodies(let.value, lambda inner: _body(inner, calls, types, counts))
        if isinstance(value, Call):
            folded = _folded(value, calls, types, counts)
            value = calls[let.name] = value if folded is None else folded
        lets.append(replace(let, value=value))
    return Body(tuple(lets), body.result)


def _folded(
    call: Call, calls: Mapping[str, Call], types: Mapping[str, Type], counts: Mapping[str, int]
) -> Call | None:
    """The layer with the normalisation folded in, or None. The layer's own `Let` becomes dead."""
    statistics = _constants(call)
    if not isinstance(call.callee, OpSpec) or call.callee.channel_affine is None or not statistics:
        return None
    data = call.args[0]
    if not isinstance(data, Var) or counts[data.name] != 1 or data.name not in calls:
        return None
    layer, type_ = calls[data.name], types[data.name]
    weights = _constants(layer)
    if not isinstance(layer.callee, OpSpec) or layer.callee.linear is None or not weights:
        return None
    linear = layer.callee.linear(weights, layer.attributes)
    if linear is None or weights[0].dtype.kind != "f":
        return None
    assert isinstance(type_, TensorType), "verified: it is normalised"
    dtype = type_.dtype.numpy
    shape = [-1 if axis == linear.axis else 1 for axis in range(linear.weight.ndim)]
    with np.errstate(all="ignore"):
        affine = call.callee.channel_affine(statistics, call.attributes)
        arrays = [
            (linear.weight * affine.factor.reshape(shape)).astype(dtype),
            ((linear.bias - affine.centre) * affine.factor + affine.addend).astype(dtype),
        ]
    if not all(np.isfinite(array).all() for array in arrays):
        return None
    return Call(layer.callee, (layer.args[0], *map(Constant, arrays)), linear.attributes)


def _constants(call: Call) -> list[NDArray[Any]]:
    """The values of all operands but the first; empty if one is not a constant."""
    found = [each.array for each in call.args[1:] if isinstance(each, Constant)]
    return found if len(found) == len(call.args) - 1 else []
