"""Pools, and what gives elements another place."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from compiler.graph.nodes import Atom, Call, Var
from compiler.graph.operators.products import Conv2d
from compiler.graph.operators.reductions import AveragePool, Reduction
from compiler.quantise.forms import Joined, Sums
from compiler.quantise.rules.products import convolved
from compiler.quantise.walk import Rule, Walk, attributes_of
from compiler.quantise.weights import Weights

__all__ = ["MOVERS", "PLACES"]

MOVERS = (
    *("depth_to_space", "expand", "flatten", "reshape", "slice", "space_to_depth", "squeeze"),
    *("tile", "transpose", "unsqueeze"),
)
"""They give elements of their operand another place."""


def _mover(walk: Walk, name: str, call: Call) -> bool:
    wanted = name in walk.chosen or walk.is_small(call.args[0])
    return _on_int8(walk, name, call) if wanted else False


def _on_int8(walk: Walk, name: str, call: Call) -> bool:
    """The same operator on int8."""
    small = walk.small(call.args[0])
    if small is None:
        return False
    moved = walk.builder.call(name, "_int8", call.callee.name, [small.var], call.attributes)
    return walk.set_own(name, moved, small.scale)


def _global_pool(walk: Walk, name: str, call: Call) -> bool:
    rank = len(walk.type(call.args[0]).shape)
    return _mean(walk, name, call.args[0], Reduction(tuple(range(2, rank)), True))


def _reduce_mean(walk: Walk, name: str, call: Call) -> bool:
    given = attributes_of(call, Reduction)
    return _mean(walk, name, call.args[0], given)


def _mean(walk: Walk, name: str, data: Atom, over: Reduction) -> bool:
    shape = walk.type(data).shape
    axes = range(len(shape)) if over.axes is None else over.axes
    extents = [shape[axis] for axis in axes]
    numbers = [each for each in extents if isinstance(each, int)]
    count = prod(numbers)
    left = len(shape) if over.keepdims else len(shape) - len(extents)
    if len(numbers) != len(extents) or not 0 < count < 1 << 23 or left < 2:
        return False
    small = walk.small(data)
    if small is None:
        return False
    wide = walk.builder.wide(name, small.var)
    acc = walk.builder.call(name, "_acc", "reduce_sum", [wide], over)
    bias = np.array([-small.scale.zero * count], np.int64)
    return walk.set_form(name, Sums(acc, np.array([small.scale.step / count]), bias, 128 * count))


def _average_pool(walk: Walk, name: str, call: Call) -> bool:
    """As a convolution with ones, where each window has as many elements."""
    given = attributes_of(call, AveragePool)
    type_ = walk.type(call.args[0])
    padding = given.padding or (0, 0, 0, 0)
    if len(type_.shape) != 4 or given.ceil_mode or not isinstance(type_.shape[1], int):
        return False
    if any(padding) and not given.count_include_pad:
        return False
    small = walk.small(call.args[0])
    if small is None:
        return False
    channels = type_.shape[1]
    count = prod(given.kernel)
    ones = Weights(np.ones((channels, 1, *given.kernel), np.int8), np.array([1 / count]))
    window = Conv2d(given.strides or (1, 1), padding, given.dilation or (1, 1), groups=channels)
    bias = np.array([-small.scale.zero * count], np.int64)
    return convolved(walk, name, window, small, ones, bias)


def _concat(walk: Walk, name: str, call: Call) -> bool:
    names = [each.name for each in call.args if isinstance(each, Var)]
    if len(names) != len(call.args):
        return False
    if not all(walk.may_be_small(each) or walk.form(each) is not None for each in call.args):
        return False
    return walk.set_form(name, Joined(tuple(names), call.attributes))


PLACES: Mapping[str, Rule] = MappingProxyType(
    {
        "average_pool": _average_pool,
        "concat": _concat,
        "global_average_pool": _global_pool,
        "max_pool": _on_int8,
        "reduce_mean": _reduce_mean,
        **dict.fromkeys(MOVERS, _mover),
    }
)
