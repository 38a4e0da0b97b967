"""Quantisation rules of pools and of operators that only move elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from types import MappingProxyType

import numpy as np

from tandem.compiler.graph.nodes import Atom, Call, Var
from tandem.compiler.graph.operators.parts import Pad
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.operators.reductions import AveragePool, Reduction
from tandem.compiler.operators.pad import PadMode
from tandem.compiler.quantise.forms import Concatenation, Movement, PendingAccumulator, Upsampling
from tandem.compiler.quantise.rewriter import (
    Rewriter,
    attributes_of,
)
from tandem.compiler.quantise.rule import (
    Rule,
    always,
)
from tandem.compiler.quantise.rules.products import convolved
from tandem.compiler.quantise.rules.refusals import never_reached, not_int8
from tandem.compiler.quantise.stated_constants import MOVES
from tandem.compiler.quantise.weights import Weights

_GIVES_SHAPE = ": --shape, which gives it, would help"
_MOST_TERMS = 1 << 23
"""More terms of int8 could exceed an accumulator of 32 bits."""


def _move(rewriter: Rewriter, name: str, call: Call) -> bool:
    if name in rewriter.chosen or rewriter.is_int8(call.args[0]):
        return _on_int8(rewriter, name, call)
    if _on_pending(rewriter, name, call):
        return True
    return rewriter.refuse(name, not_int8(rewriter, "data", call.args[0]))


def _on_pending(rewriter: Rewriter, name: str, call: Call) -> bool:
    """Applies the same operator to an accumulator, or to a concatenation, once that is int8: its
    scale is stated behind the operator."""
    (data,) = call.args
    form = rewriter.form(data)
    if rewriter.chosen or not isinstance(form, PendingAccumulator | Concatenation):
        return False
    if not rewriter.is_unshared(data):
        return False
    move = Movement(call.callee.name, call.attributes)
    return rewriter.set_form(name, replace(form, moves=(*form.moves, move)))


def _on_int8(rewriter: Rewriter, name: str, call: Call) -> bool:
    """Applies the same operator to the int8 operand."""
    data = rewriter.int8(call.args[0])
    if data is None:
        return rewriter.refuse(name, not_int8(rewriter, "data", call.args[0]))
    moved = rewriter.builder.call(name, "_int8", call.callee.name, [data.var], call.attributes)
    return rewriter.set_int8(name, rewriter.builder.int8_value(name, moved, data.scale))


def _pad(rewriter: Rewriter, name: str, call: Call) -> bool:
    """Zeros around a value that is int8 already are its zero point, in a network that states its
    own scales; others calibrate what is padded."""
    given, (data, *_) = attributes_of(call, Pad), call.args
    if rewriter.chosen:
        return False
    if given.mode is PadMode.CONSTANT and given.value != 0:
        return rewriter.refuse(name, f"it pads with {given.value:g}: 0 would help")
    value = rewriter.int8(data) if rewriter.is_int8(data) else None
    if value is None:
        return rewriter.refuse(name, not_int8(rewriter, "data", data))
    own = replace(given, value=value.scale.zero)
    padded = rewriter.builder.call(name, "_int8", "pad", [value.var], own)
    return rewriter.set_int8(name, rewriter.builder.int8_value(name, padded, value.scale))


def _upsample(rewriter: Rewriter, name: str, call: Call) -> bool:
    (data,) = call.args
    if not isinstance(data, Var) or not (name in rewriter.chosen or rewriter.is_int8(data)):
        return rewriter.refuse(name, not_int8(rewriter, "data", data))
    return rewriter.set_form(name, Upsampling(data, call.attributes))


def _global_pool(rewriter: Rewriter, name: str, call: Call) -> bool:
    rank = len(rewriter.type(call.args[0]).shape)
    return _mean(rewriter, name, call.args[0], Reduction(tuple(range(2, rank)), True))


def _reduce_mean(rewriter: Rewriter, name: str, call: Call) -> bool:
    return _mean(rewriter, name, call.args[0], attributes_of(call, Reduction))


def _mean(rewriter: Rewriter, name: str, data: Atom, over: Reduction) -> bool:
    shape = rewriter.type(data).shape
    axes = range(len(shape)) if over.axes is None else over.axes
    extents = [shape[axis] for axis in axes]
    numbers = [extent for extent in extents if isinstance(extent, int)]
    count = prod(numbers)
    left = len(shape) if over.keepdims else len(shape) - len(extents)
    if len(numbers) != len(extents):
        return rewriter.refuse(name, f"an extent of its data is open{_GIVES_SHAPE}")
    if not 0 < count < _MOST_TERMS:
        return rewriter.refuse(name, f"it is a mean of {count:,} elements: {_MOST_TERMS - 1:,} fit")
    if left < 2:
        return rewriter.refuse(name, "its result has no axis of channels: keepdims=1 would help")
    value = rewriter.int8(data)
    if value is None:
        return rewriter.refuse(name, never_reached(rewriter, "data", data))
    wide = rewriter.builder.widen(name, value.var)
    acc = rewriter.builder.call(name, "_acc", "reduce_sum", [wide], over)
    scales = np.array([value.scale.step / count])
    bias = np.array([-value.scale.zero * count], np.int64)
    return rewriter.set_form(name, PendingAccumulator(acc, scales, bias, 128 * count))


def _average_pool(rewriter: Rewriter, name: str, call: Call) -> bool:
    """Rewrites to a convolution with ones if all windows have the same number of elements."""
    pool = attributes_of(call, AveragePool)
    type_ = rewriter.type(call.args[0])
    padding = pool.padding or (0, 0, 0, 0)
    if len(type_.shape) != 4:
        return rewriter.refuse(name, f"its data has {len(type_.shape)} dimensions, not 4")
    if not isinstance(type_.shape[1], int):
        return rewriter.refuse(name, f"the number of its channels is open{_GIVES_SHAPE}")
    if pool.ceil_mode or (any(padding) and not pool.count_include_pad):
        return rewriter.refuse(
            name,
            "its windows have different numbers of elements: count_include_pad=1 without "
            "ceil_mode would help",
        )
    data = rewriter.int8(call.args[0])
    if data is None:
        return rewriter.refuse(name, never_reached(rewriter, "data", call.args[0]))
    channels = type_.shape[1]
    count = prod(pool.kernel)
    ones = Weights(np.ones((channels, 1, *pool.kernel), np.int8), np.array([1 / count]))
    window = Conv2d(pool.strides or (1, 1), padding, pool.dilation or (1, 1), groups=channels)
    bias = np.array([-data.scale.zero * count], np.int64)
    return convolved(rewriter, name, window, data, ones, bias)


def _concat(rewriter: Rewriter, name: str, call: Call) -> bool:
    names = [each.name for each in call.args if isinstance(each, Var)]
    if len(names) != len(call.args):
        return rewriter.refuse(name, "a part of it is constant")
    if not rewriter.chosen and all(rewriter.is_int8(each) for each in call.args):
        # Without a scale of its own it has that of its parts.
        values = [value for each in call.args if (value := rewriter.int8(each)) is not None]
        if len({value.scale for value in values}) == 1:
            operands = [value.var for value in values]
            joined = rewriter.builder.call(name, "_int8", "concat", operands, call.attributes)
            whole = rewriter.builder.int8_value(name, joined, values[0].scale)
            return rewriter.set_int8(name, whole)
    for part in call.args:
        if not rewriter.may_be_int8(part) and rewriter.form(part) is None:
            return rewriter.refuse(name, not_int8(rewriter, "part", part))
    return rewriter.set_form(name, Concatenation(tuple(names), call.attributes))


DATA_MOVEMENT: Mapping[str, Rule[Rewriter]] = MappingProxyType(
    {
        "concat": Rule(_concat, on_demand=True),
        "pad": Rule(_pad, lambda _: ()),
        "upsample": Rule(_upsample, on_demand=True),
        **dict.fromkeys(sorted(MOVES), Rule(_move, on_demand=True)),
    }
)
"""Rules of operators that only move elements, by the operator's name."""

POOLS: Mapping[str, Rule[Rewriter]] = MappingProxyType(
    {
        "average_pool": Rule(_average_pool, always_int8=always),
        "global_average_pool": Rule(_global_pool),
        "max_pool": Rule(_on_int8),
        "reduce_mean": Rule(_reduce_mean),
    }
)
