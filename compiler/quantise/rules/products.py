"""Quantisation rules of convolutions, dense layers and matrix products: int32 accumulators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call, Var
from tandem.compiler.graph.operators.parts import Gather, Pad
from tandem.compiler.graph.operators.products import Conv2d, Gemm, Product
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.quantise.centred_operands import CentredOperands, centred_depth
from tandem.compiler.quantise.forms import Int8Value, PendingAccumulator
from tandem.compiler.quantise.narrow_weights import NarrowWeights
from tandem.compiler.quantise.rewriter import (
    Rewriter,
    attributes_of,
)
from tandem.compiler.quantise.rule import (
    Rule,
    always,
)
from tandem.compiler.quantise.rules.refusals import never_reached, not_constant
from tandem.compiler.quantise.weights import Weights, least_scales, quantised_weights

_Layer: TypeAlias = tuple[Int8Value, Weights, NDArray[np.int64]]
_LARGEST_TERM = int(INT8.low) ** 2
_SMALLER_SUMS = ": two layers of a part of the inputs each, and an Add, would help"
_LARGE_BIAS = (
    "its bias exceeds 32 bits in units of its sums: a larger scale of its data or weights would "
    "help"
)


def _conv2d(rewriter: Rewriter, name: str, call: Call) -> bool:
    attributes = attributes_of(call, Conv2d)
    data, weight, *rest = call.args
    found = _operands(rewriter, name, data, weight, rest, weight_axis=0)
    if not found:
        return False
    return convolved(rewriter, name, attributes, *found)


def convolved(
    rewriter: Rewriter,
    name: str,
    attributes: Conv2d,
    data: Int8Value,
    weights: Weights,
    bias: NDArray[np.int64],
) -> bool:
    """Emits an int8 convolution and records its accumulator as the form. Returns True."""
    var = data.var
    narrow = NarrowWeights.of(weights.values, attributes.groups)
    if data.scale.zero and any(attributes.padding):
        # Padding is 0 in real numbers: the zero point in int8.
        top, left, bottom, right = attributes.padding
        pads = Pad((0, 0, top, left, 0, 0, bottom, right), value=data.scale.zero)
        var = rewriter.builder.call(name, "_pad", "pad", [var], pads)
        attributes = replace(attributes, padding=(0, 0, 0, 0))
    operands: list[Atom] = _with_narrow(rewriter, name, var, weights, narrow)
    attributes = replace(attributes, out_dtype=INT32)
    acc = rewriter.builder.call(name, "_acc", "conv2d", operands, attributes)
    return rewriter.set_form(name, _accumulator(acc, data, weights, bias))


def _dense(rewriter: Rewriter, name: str, call: Call) -> bool:
    data, weight, *rest = call.args
    return _matrix(rewriter, name, data, weight, rest, 0)


def _gemm(rewriter: Rewriter, name: str, call: Call) -> bool:
    attributes = attributes_of(call, Gemm)
    if attributes.alpha != 1 or attributes.beta != 1 or attributes.trans_a:
        return rewriter.refuse(
            name,
            f"it has alpha {attributes.alpha:g}, beta {attributes.beta:g} and transA "
            f"{attributes.trans_a:d}: 1, 1 and 0 would help",
        )
    data, weight, *rest = call.args
    return _matrix(rewriter, name, data, weight, rest, 0 if attributes.trans_b else 1)


def _matmul(rewriter: Rewriter, name: str, call: Call) -> bool:
    data, weight = call.args
    stated = any(isinstance(rewriter.form(operand), Weights) for operand in call.args)
    if _has_two_activations(call) and not stated:
        return _activations(rewriter, name, data, weight)
    ranks = [len(rewriter.type(operand).shape) for operand in call.args]
    if _is_by_stack(call):
        assert isinstance(weight, Constant), "so"
        return _by_stack(rewriter, name, data, weight)
    if ranks != [2, 2]:
        return rewriter.refuse(name, f"its operands have {ranks[0]} and {ranks[1]} axes, not 2")
    return _matrix(rewriter, name, data, weight, [], 1)


def _by_stack(rewriter: Rewriter, name: str, data: Atom, weight: Constant) -> bool:
    """The product with a constant stack of matrices, all of one scale."""
    if not np.isfinite(weight.array).all():
        return rewriter.refuse(name, not_constant("weight", weight))
    value = rewriter.int8(data)
    if value is None:
        return rewriter.refuse(name, never_reached(rewriter, "data", data))
    if value.scale.zero:
        return rewriter.refuse(
            name,
            f"its data has the zero point {value.scale.zero}, beside a stack of constant matrices: "
            "0 would help",
        )
    whole = weight.array[None]
    weights = quantised_weights(whole, np.zeros(1), value.scale.step, rewriter.options)
    (values,) = weights.values
    reach = int(np.abs(values.astype(np.int64)).sum(axis=-2).max(initial=0)) * -int(INT8.low)
    if reach > INT32.high:
        return rewriter.refuse(
            name, f"a column's sums reach {reach:,}, beyond 32 bits{_SMALLER_SUMS}"
        )
    operands: list[Atom] = [value.var, Constant(values)]
    acc = rewriter.builder.call(name, "_acc", "matmul", operands, Product(INT32))
    scales = value.scale.step * weights.scales
    found = PendingAccumulator(acc, scales, np.zeros(1, np.int64), max(reach, 1))
    return rewriter.set_form(name, found)


def _activations(rewriter: Rewriter, name: str, left: Atom, right: Atom) -> bool:
    """The product of two values that are computed when the network runs, both int8."""
    ranks = len(rewriter.type(left).shape), len(rewriter.type(right).shape)
    depth = rewriter.type(left).shape[-1]
    if not isinstance(depth, int) or depth * _LARGEST_TERM > INT32.high:
        return rewriter.refuse(name, f"{depth:,} products may exceed 32 bits{_SMALLER_SUMS}")
    first, second = rewriter.int8(left), rewriter.int8(right)
    if first is None or second is None:
        operand = left if first is None else right
        return rewriter.refuse(name, never_reached(rewriter, "operand", operand))
    zeros = first.scale.zero, second.scale.zero
    if any(zeros) and min(ranks) < 2:
        return rewriter.refuse(name, "an operand with a zero point is a vector: 0 would help")
    inner = centred_depth(depth, *zeros)
    if inner * _LARGEST_TERM > INT32.high:
        return rewriter.refuse(
            name, f"{inner:,} products may exceed 32 bits with zero points: 0 would help"
        )
    found = CentredOperands.of(rewriter.builder, name, first, second, ranks, depth)
    operands: list[Atom] = [found.left, found.right]
    acc = rewriter.builder.call(name, "_acc", "matmul", operands, Product(INT32))
    scales = np.array([first.scale.step * second.scale.step])
    bias = np.array([found.constant], np.int64)
    bound = max(found.depth, 1) * _LARGEST_TERM
    return rewriter.set_form(name, PendingAccumulator(acc, scales, bias, bound))


def _matrix(
    rewriter: Rewriter, name: str, data: Atom, weight: Atom, rest: list[Atom], weight_axis: int
) -> bool:
    found = _operands(rewriter, name, data, weight, rest, weight_axis)
    if not found:
        return False
    value, weights, bias = found
    narrow = NarrowWeights.of(weights.values)
    operands: list[Atom] = _with_narrow(rewriter, name, value.var, weights, narrow)
    acc = rewriter.builder.call(name, "_acc", "dense", operands, Product(INT32))
    return rewriter.set_form(name, _accumulator(acc, value, weights, bias))


def _operands(
    rewriter: Rewriter, name: str, data: Atom, weight: Atom, rest: list[Atom], weight_axis: int
) -> _Layer | Literal[False]:
    """Data and weights, output channels first, as integers, and the bias in units of the
    accumulator; False, with the reason recorded, if weights or bias are not constant or too
    large."""
    channels = rewriter.type(weight).shape[weight_axis]
    if not isinstance(channels, int):
        return rewriter.refuse(
            name, "the number of its channels is open: --shape, which gives it, would help"
        )
    real_bias = _real(rewriter, rest[0]) if rest else np.zeros(channels)
    if real_bias is None:
        return rewriter.refuse(name, not_constant("bias", rest[0]))
    if real_bias.size not in (1, channels) or (
        real_bias.shape and real_bias.shape[-1] != real_bias.size
    ):
        return rewriter.refuse(
            name, f"its bias is not one number for each of {channels} channels: an Add would help"
        )
    real_bias = np.resize(real_bias, channels)
    stated = rewriter.form(weight)
    if not isinstance(weight, Constant) and not isinstance(stated, Weights):
        return rewriter.refuse(name, not_constant("weight", weight))
    value = rewriter.int8(data)
    if value is None:
        return rewriter.refuse(name, never_reached(rewriter, "data", data))
    if isinstance(stated, Weights):
        weights = stated.moved_first(weight_axis)
    else:
        assert isinstance(weight, Constant), "a constant has no form"
        moved = np.ascontiguousarray(np.moveaxis(weight.array, weight_axis, 0))
        if not np.isfinite(moved).all():
            return rewriter.refuse(name, not_constant("weight", weight))
        weights = _weights(rewriter, name, moved, real_bias, value.scale.step)
    if weights is None:
        return rewriter.refuse(
            name, "its weights have scales along another axis than their output channels"
        )
    if weights.reach * 128 > INT32.high:
        return rewriter.refuse(
            name, f"a channel's sums reach {weights.reach * 128:,}, beyond 32 bits{_SMALLER_SUMS}"
        )
    units = value.scale.step * weights.scales
    exact = np.rint(real_bias / units)
    if not (np.abs(exact) <= INT32.high).all():
        return rewriter.refuse(name, _LARGE_BIAS)
    bias = exact.astype(np.int64) - value.scale.zero * weights.sums
    if np.abs(bias).max(initial=0) > INT32.high:
        return rewriter.refuse(name, _LARGE_BIAS)
    return value, weights, bias


def _weights(
    rewriter: Rewriter,
    name: str,
    moved: NDArray[Any],
    bias: NDArray[np.float64],
    input_scale: float,
) -> Weights:
    """Real weights, output channels first, as integers: compressed if the layer has a format."""
    if rewriter.compression is not None:
        least = least_scales(bias, input_scale)
        coded = rewriter.compression.coded(name, moved, least)
        rewriter.builder.weights.append(rewriter.compression.stored(name, moved, coded))
        if coded is not None:
            return Weights.of_codes(coded)
    return quantised_weights(moved, bias, input_scale, rewriter.options)


def _with_narrow(
    rewriter: Rewriter, name: str, data: Var, weights: Weights, narrow: NarrowWeights | None
) -> list[Atom]:
    """The data and its int8 weights, as operands: with inputs repeated for weights beyond int8.
    Weights that are far beyond stay wide."""
    if weights.coded is not None:
        return [data, rewriter.builder.widened(name, weights.coded)]
    if narrow is None:
        return [data, Constant(weights.values)]
    if narrow.inputs is not None:
        repeated: list[Atom] = [data, Constant(narrow.inputs)]
        data = rewriter.builder.call(name, "_inputs", "gather", repeated, Gather(1))
    return [data, Constant(narrow.values)]


def _accumulator(
    acc: Var, data: Int8Value, weights: Weights, bias: NDArray[np.int64]
) -> PendingAccumulator:
    scales = data.scale.step * weights.scales
    return PendingAccumulator(acc, scales, bias, max(weights.reach, 1) * 128)


def _real(rewriter: Rewriter, atom: Atom) -> NDArray[np.float64] | None:
    """The real value of a finite constant or of stated weights; None for any other atom."""
    if isinstance(atom, Constant):
        return atom.array.astype(np.float64) if np.isfinite(atom.array).all() else None
    form = rewriter.form(atom)
    return form.real if isinstance(form, Weights) else None


def _data_operand(call: Call) -> tuple[Atom, ...]:
    """The data operand if the weights are constant, else ()."""
    return call.args[:1] if isinstance(call.args[1], Constant) else ()


def _has_two_activations(call: Call) -> bool:
    return not any(isinstance(operand, Constant) for operand in call.args)


def _is_by_stack(call: Call) -> bool:
    """Whether the second operand is a constant stack of matrices."""
    weight = call.args[1]
    return isinstance(weight, Constant) and weight.array.ndim > 2


def _takes_int8(call: Call) -> bool:
    return _has_two_activations(call) or _is_by_stack(call)


def _matmul_operands(call: Call) -> tuple[Atom, ...]:
    return call.args if _has_two_activations(call) else _data_operand(call)


PRODUCTS: Mapping[str, Rule[Rewriter]] = MappingProxyType(
    {
        "conv2d": Rule(_conv2d, _data_operand, always_int8=always),
        "dense": Rule(_dense, _data_operand),
        "gemm": Rule(_gemm, _data_operand),
        "matmul": Rule(_matmul, _matmul_operands, always_int8=_takes_int8),
    }
)
