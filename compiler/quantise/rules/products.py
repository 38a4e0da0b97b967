"""Convolutions, dense layers, products of matrices: sums of products in int32."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from compiler.graph.constant import Constant
from compiler.graph.nodes import Atom, Call, Var
from compiler.graph.operators.parts import Pad
from compiler.graph.operators.products import Conv2d, Gemm, Product
from compiler.ir.dtypes import INT32
from compiler.quantise.forms import Small, Sums
from compiler.quantise.walk import Rule, Walk, attributes_of
from compiler.quantise.weights import Weights, quantised_weights

__all__ = ["PRODUCTS", "convolved"]


def _conv2d(walk: Walk, name: str, call: Call) -> bool:
    attributes = attributes_of(call, Conv2d)
    data, weight, *rest = call.args
    found = _operands(walk, data, weight, rest, weight_axis=0)
    if found is None:
        return False
    return convolved(walk, name, attributes, *found)


def convolved(
    walk: Walk,
    name: str,
    attributes: Conv2d,
    small: Small,
    weights: Weights,
    bias: NDArray[np.int64],
) -> bool:
    var = small.var
    if small.scale.zero and any(attributes.padding):
        # Padding is 0 in real numbers.
        top, left, bottom, right = attributes.padding
        pads = Pad((0, 0, top, left, 0, 0, bottom, right), value=small.scale.zero)
        var = walk.builder.call(name, "_pad", "pad", [var], pads)
        attributes = replace(attributes, padding=(0, 0, 0, 0))
    operands: list[Atom] = [var, Constant(weights.values)]
    attributes = replace(attributes, out_dtype=INT32)
    acc = walk.builder.call(name, "_acc", "conv2d", operands, attributes)
    return walk.set_form(name, replace(_sums(acc, small, weights, bias), narrow=True))


def _dense(walk: Walk, name: str, call: Call) -> bool:
    data, weight, *rest = call.args
    return _matrix(walk, name, data, weight, rest, 0)


def _gemm(walk: Walk, name: str, call: Call) -> bool:
    given = attributes_of(call, Gemm)
    if given.alpha != 1 or given.beta != 1 or given.trans_a:
        return False
    data, weight, *rest = call.args
    return _matrix(walk, name, data, weight, rest, 0 if given.trans_b else 1)


def _matmul(walk: Walk, name: str, call: Call) -> bool:
    data, weight = call.args
    if len(walk.type(data).shape) != 2 or len(walk.type(weight).shape) != 2:
        return False
    return _matrix(walk, name, data, weight, [], 1)


def _matrix(
    walk: Walk, name: str, data: Atom, weight: Atom, rest: list[Atom], weight_axis: int
) -> bool:
    found = _operands(walk, data, weight, rest, weight_axis)
    if found is None:
        return False
    small, weights, bias = found
    operands: list[Atom] = [small.var, Constant(weights.values)]
    acc = walk.builder.call(name, "_acc", "dense", operands, Product(INT32))
    return walk.set_form(name, _sums(acc, small, weights, bias))


def _operands(
    walk: Walk, data: Atom, weight: Atom, rest: list[Atom], weight_axis: int
) -> tuple[Small, Weights, NDArray[np.int64]] | None:
    """Data and weights, output channels first, as integers, and the bias in units of sums."""
    channels = walk.type(weight).shape[weight_axis]
    if not isinstance(channels, int):
        return None
    real_bias = _real(walk, rest[0]) if rest else np.zeros(channels)
    if real_bias is None or real_bias.size not in (1, channels):
        return None
    if real_bias.shape and real_bias.shape[-1] != real_bias.size:
        # A number for each row, not for each channel.
        return None
    real_bias = np.resize(real_bias, channels)
    known = walk.form(weight)
    if not isinstance(weight, Constant) and not isinstance(known, Weights):
        return None
    small = walk.small(data)
    if small is None:
        return None
    if isinstance(known, Weights):
        weights = known.turned(weight_axis)
    else:
        assert isinstance(weight, Constant), "it is no form"
        turned = np.ascontiguousarray(np.moveaxis(weight.array, weight_axis, 0))
        if not np.isfinite(turned).all():
            return None
        weights = quantised_weights(turned, real_bias, small.scale.step, walk.options)
    if weights is None or weights.reach * 128 > INT32.high:
        return None
    units = small.scale.step * weights.scales
    exact = np.rint(real_bias / units)
    if not (np.abs(exact) <= INT32.high).all():
        return None
    bias = exact.astype(np.int64) - small.scale.zero * weights.sums
    if np.abs(bias).max(initial=0) > INT32.high:
        return None
    return small, weights, bias


def _sums(acc: Var, small: Small, weights: Weights, bias: NDArray[np.int64]) -> Sums:
    return Sums(acc, small.scale.step * weights.scales, bias, max(weights.reach, 1) * 128)


def _real(walk: Walk, atom: Atom) -> NDArray[np.float64] | None:
    """A constant's value."""
    if isinstance(atom, Constant):
        return atom.array.astype(np.float64) if np.isfinite(atom.array).all() else None
    form = walk.form(atom)
    return form.real if isinstance(form, Weights) else None


PRODUCTS: Mapping[str, Rule] = MappingProxyType(
    {"conv2d": _conv2d, "dense": _dense, "gemm": _gemm, "matmul": _matmul}
)
