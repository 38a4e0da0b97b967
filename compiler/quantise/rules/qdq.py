"""Quantisation rules of `quantise` and `dequantise`, which state the scales of a QDQ network."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call
from tandem.compiler.ir.dtypes import FLOAT32, INT8, UINT8
from tandem.compiler.quantise.forms import Scale, StatedInt8
from tandem.compiler.quantise.rewriter import Rewriter
from tandem.compiler.quantise.rule import Rule
from tandem.compiler.quantise.stated_constants import StatedConstant
from tandem.compiler.quantise.weights import Weights

_ONE_SCALE = (
    "one constant and positive scale in float32, with a zero point of int8 or uint8, would help"
)


def _quantise(rewriter: Rewriter, name: str, call: Call) -> bool:
    data, step, zero = call.args
    scale = _scale(step, zero)
    if scale is None or isinstance(data, Constant) or rewriter.type(data).dtype != FLOAT32:
        return rewriter.refuse(name, _ONE_SCALE)
    return rewriter.set_form(name, StatedInt8(data, scale))


def _dequantise(rewriter: Rewriter, name: str, call: Call) -> bool:
    data, step, zero = call.args
    if isinstance(data, Constant):
        return _weights(rewriter, name, call)
    scale = _scale(step, zero)
    if scale is None or rewriter.type(step).dtype != FLOAT32:
        return rewriter.refuse(name, _ONE_SCALE)
    form = rewriter.form(data)
    if isinstance(form, StatedInt8):
        if form.scale == scale:
            return rewriter.set_int8(name, rewriter.int8_of_scale(form.of, form.scale))
        var = rewriter.int8_of_scale(form.of, form.scale).var
    else:
        rewriter.emit_real(data)
        var = rewriter.builder.as_int8(data, rewriter.type(data).dtype)
    return rewriter.set_int8(name, rewriter.builder.int8_value(name, var, scale))


def _weights(rewriter: Rewriter, name: str, call: Call) -> bool:
    stated = StatedConstant.of(call)
    if stated is None:
        if not all(isinstance(each, Constant) for each in call.args):
            return rewriter.refuse(name, "its scale is computed when the network runs")
        return rewriter.refuse(name, "its integers exceed 32 bits without their zero point")
    if not (stated.scales > 0).all():
        return rewriter.refuse(name, "a scale is not positive")
    scales = stated.scales.astype(np.float64)
    return rewriter.set_form(name, Weights(stated.values, scales, stated.axis))


def _scale(step: Atom, zero: Atom) -> Scale | None:
    """The scale of an int8 or uint8 tensor; None if not constant, positive and one number."""
    if not isinstance(step, Constant) or not isinstance(zero, Constant):
        return None
    if step.array.size != 1 or zero.array.size != 1 or zero.type.dtype not in (INT8, UINT8):
        return None
    size = float(step.array.item())
    moved = 128 if zero.type.dtype == UINT8 else 0
    return Scale(size, int(zero.array.item()) - moved) if 0 < size < np.inf else None


QDQ: Mapping[str, Rule[Rewriter]] = MappingProxyType(
    {
        "dequantise": Rule(_dequantise, lambda _: ()),
        "quantise": Rule(_quantise, lambda _: ()),
    }
)
