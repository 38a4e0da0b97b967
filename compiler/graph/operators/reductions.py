"""Operators that join elements along axes: reductions, pooling, softmax, normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.graph.attributes import Attributes
from compiler.graph.operators.symbolic import axis_of, carried, leading, same_axes
from compiler.graph.opspec import DATA, AnyOp, Ask, ChannelAffine, Operands, Pattern, computed_by
from compiler.graph.types import TensorType
from compiler.operators import arg, norm, pool
from compiler.operators.reduce import REDUCTIONS, reduce_log_sum_exp

__all__ = [
    "SPECS",
    "Arg",
    "AveragePool",
    "Epsilon",
    "LastAxes",
    "MaxPool",
    "Reduction",
    "Softmax",
]


@dataclass(frozen=True, slots=True)
class Reduction(Attributes):
    """Axes, by default all; `keepdims` leaves them with extent 1."""

    axes: tuple[int, ...] | None = None
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class Arg(Attributes):
    """The axis; of several that are the greatest or least, which one."""

    axis: int = 0
    keepdims: bool = True
    select_last_index: bool = False


@dataclass(frozen=True, slots=True)
class MaxPool(Attributes):
    """A number for each spatial axis, of padding two. See `compiler.operators.pool`."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    padding: tuple[int, ...] | None = None
    dilation: tuple[int, ...] | None = None
    ceil_mode: bool = False


@dataclass(frozen=True, slots=True)
class AveragePool(MaxPool):
    """As `MaxPool`, and whether padding counts."""

    count_include_pad: bool = False


@dataclass(frozen=True, slots=True)
class Softmax(Attributes):
    """Along which axis sums are 1."""

    axis: int = -1


@dataclass(frozen=True, slots=True)
class Epsilon(Attributes):
    """What is added to variances."""

    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True)
class LastAxes(Attributes):
    """The first of the last axes, over which is normalised; what is added to variances."""

    axis: int = -1
    epsilon: float = 1e-5


def _reduced(ask: Ask, axes: Sequence[int], keepdims: bool) -> tuple[TensorType, ...]:
    """Other axes go through; along these, whatever their extent, one element is left."""
    gone = {axis_of(ask, each) for each in axes}
    free: dict[tuple[int, int], int | None] = {}
    place = 0
    for axis in range(ask.data.rank):
        free[0, axis] = None if axis in gone else place
        place += keepdims or axis not in gone
    return carried(ask, free)


def _reduction(ask: Ask, given: Reduction) -> tuple[TensorType, ...]:
    axes = range(ask.data.rank) if given.axes is None else given.axes
    return _reduced(ask, axes, given.keepdims)


def _arg(ask: Ask, given: Arg) -> tuple[TensorType, ...]:
    return _reduced(ask, [given.axis], given.keepdims)


def _global_pool(ask: Ask, _: Attributes) -> tuple[TensorType, ...]:
    return _reduced(ask, range(2, ask.data.rank), True)


def _softmax(ask: Ask, given: Softmax) -> tuple[TensorType, ...]:
    # Along `axis` too: how many elements add up to 1 does not change what the result is.
    axis_of(ask, given.axis)
    return carried(ask, same_axes(ask))


def _batch_norm(ask: Ask, _: Epsilon) -> tuple[TensorType, ...]:
    return carried(ask, same_axes(ask, 1))


def _normalised(statistics: Sequence[NDArray[Any]], given: Epsilon) -> ChannelAffine:
    scale, bias, mean, variance = (each.astype(np.float64) for each in statistics)
    return ChannelAffine(mean, scale / np.sqrt(variance + given.epsilon), bias)


def _last_axes(ask: Ask, given: LastAxes) -> tuple[TensorType, ...]:
    return carried(ask, {(0, axis): axis for axis in range(axis_of(ask, given.axis))})


_NORMS = ("data", "scale", "bias")

SPECS: tuple[AnyOp, ...] = (
    *(
        computed_by(
            function,
            # What reads its operand twice would compute twice whatever is fused into it.
            Pattern.OUT_FUSABLE if function is reduce_log_sum_exp else Pattern.REDUCTION,
            DATA,
            Reduction,
            _reduction,
        )
        for function in REDUCTIONS
    ),
    computed_by(arg.arg_max, Pattern.OUT_FUSABLE, DATA, Arg, _arg),
    computed_by(arg.arg_min, Pattern.OUT_FUSABLE, DATA, Arg, _arg),
    computed_by(pool.max_pool, Pattern.OUT_FUSABLE, DATA, MaxPool, leading(2)),
    computed_by(pool.average_pool, Pattern.OUT_FUSABLE, DATA, AveragePool, leading(2)),
    computed_by(pool.global_max_pool, Pattern.OUT_FUSABLE, DATA, Attributes, _global_pool),
    computed_by(pool.global_average_pool, Pattern.OUT_FUSABLE, DATA, Attributes, _global_pool),
    computed_by(norm.softmax, Pattern.OPAQUE, DATA, Softmax, _softmax),
    computed_by(norm.log_softmax, Pattern.OPAQUE, DATA, Softmax, _softmax),
    computed_by(
        norm.batch_norm,
        Pattern.BROADCAST,
        Operands((*_NORMS, "mean", "variance")),
        Epsilon,
        _batch_norm,
        channel_affine=_normalised,
    ),
    computed_by(norm.instance_norm, Pattern.OPAQUE, Operands(_NORMS), Epsilon, leading(1)),
    computed_by(norm.layer_norm, Pattern.OPAQUE, Operands(_NORMS, 1), LastAxes, _last_axes),
    computed_by(norm.rms_norm, Pattern.OPAQUE, Operands(_NORMS[:2]), LastAxes, _last_axes),
)
