"""Scales that the network says itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from compiler.graph.constant import Constant
from compiler.graph.nodes import Atom, Call
from compiler.graph.operators.quantised import Along
from compiler.ir.dtypes import FLOAT32, INT8, INT32, UINT8, smallest_int
from compiler.quantise.forms import Encoded, Scale
from compiler.quantise.walk import Rule, Walk, attributes_of
from compiler.quantise.weights import Weights

__all__ = ["GIVEN"]


def _quantise(walk: Walk, name: str, call: Call) -> bool:
    data, step, zero = call.args
    scale = _scale(step, zero)
    if scale is None or isinstance(data, Constant) or walk.type(data).dtype != FLOAT32:
        return False
    return walk.set_form(name, Encoded(data, scale))


def _dequantise(walk: Walk, name: str, call: Call) -> bool:
    given = attributes_of(call, Along)
    data, step, zero = call.args
    if isinstance(data, Constant):
        return _weights(walk, name, data, step, zero, given.axis)
    scale = _scale(step, zero)
    if scale is None or walk.type(step).dtype != FLOAT32:
        return False
    form = walk.form(data)
    if isinstance(form, Encoded):
        if form.scale == scale:
            return walk.set_small(name, walk.small_of(form.of, form.scale))
        var = walk.small_of(form.of, form.scale).var
    else:
        walk.real(data)
        var = walk.builder.decoded(data, walk.type(data).dtype)
    return walk.set_own(name, var, scale)


def _weights(walk: Walk, name: str, data: Constant, step: Atom, zero: Atom, axis: int) -> bool:
    if not isinstance(step, Constant) or not isinstance(zero, Constant):
        return False
    rank = data.array.ndim
    along = axis % rank if rank and step.array.size > 1 else 0

    def spread(each: Constant) -> NDArray[np.int64]:
        flat = each.array.reshape(-1).astype(np.int64)
        return flat if each.array.size == 1 else flat.reshape((-1, *(1,) * (rank - 1 - along)))

    values = data.array.astype(np.int64) - spread(zero)
    scales = step.array.reshape(-1).astype(np.float64)
    if not (scales > 0).all():
        return False
    least, greatest = values.min(initial=0), values.max(initial=0)
    if least < INT32.low or greatest > INT32.high:
        return False
    values = values.astype(smallest_int(least, greatest).numpy)
    return walk.set_form(name, Weights(values, scales, along))


def _scale(step: Atom, zero: Atom) -> Scale | None:
    """One for the tensor, of int8 or uint8."""
    if not isinstance(step, Constant) or not isinstance(zero, Constant):
        return None
    if step.array.size != 1 or zero.array.size != 1 or zero.type.dtype not in (INT8, UINT8):
        return None
    size = float(step.array.item())
    moved = 128 if zero.type.dtype == UINT8 else 0
    return Scale(size, int(zero.array.item()) - moved) if 0 < size < np.inf else None


GIVEN: Mapping[str, Rule] = MappingProxyType({"dequantise": _dequantise, "quantise": _quantise})
