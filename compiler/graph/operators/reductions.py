"""Reductions, pooling, softmax, normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.operators.gradients import norms, pools
from tandem.compiler.graph.operators.gradients.reductions import (
    REDUCTIONS,
    global_average_gradient,
    global_max_gradient,
)
from tandem.compiler.graph.operators.symbolic import (
    AxisMap,
    axis_of,
    leading,
    passed_through,
    same_axes,
)
from tandem.compiler.graph.opspec import (
    DATA,
    AnyOp,
    ChannelAffine,
    Operands,
    OpPattern,
    TypeQuery,
    define_operator,
)
from tandem.compiler.graph.types import TensorType
from tandem.compiler.operators import norm, pool, reduce


@dataclass(frozen=True, slots=True)
class Reduction(Attributes):
    """Axes to reduce, by default all; `keepdims` keeps reduced axes with extent 1."""

    axes: tuple[int, ...] | None = None
    keepdims: bool = True


@dataclass(frozen=True, slots=True)
class Arg(Attributes):
    """Attributes of argmax and argmin; of equal elements the first or the last is selected."""

    axis: int = 0
    keepdims: bool = True
    select_last_index: bool = False


@dataclass(frozen=True, slots=True)
class MaxPool(Attributes):
    """Attributes of `max_pool`: a number for each spatial axis, and two of padding."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    padding: tuple[int, ...] | None = None
    dilation: tuple[int, ...] | None = None
    ceil_mode: bool = False


@dataclass(frozen=True, slots=True)
class AveragePool(MaxPool):
    """Attributes of `average_pool`: those of `MaxPool`, and whether padding counts as elements."""

    count_include_pad: bool = False


@dataclass(frozen=True, slots=True)
class LpPool(MaxPool):
    """Attributes of `lp_pool`: those of `MaxPool`, and the order of the norm."""

    p: int = 2


@dataclass(frozen=True, slots=True)
class MaxPoolIndex(MaxPool):
    """Attributes of `max_pool_index`: those of `MaxPool`, and the order of positions."""

    columns_first: bool = False


@dataclass(frozen=True, slots=True)
class Softmax(Attributes):
    """The axis along which the result sums to 1."""

    axis: int = -1


@dataclass(frozen=True, slots=True)
class Epsilon(Attributes):
    """The number that is added to variances."""

    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True)
class LayerNorm(Attributes):
    """The first of the normalised axes; the number that is added to variances."""

    axis: int = -1
    epsilon: float = 1e-5


def _reduced(query: TypeQuery, axes: Sequence[int], keepdims: bool) -> tuple[TensorType, ...]:
    """The result of a reduction along `axes`, whose extents may be symbolic."""
    reduced_axes = {axis_of(query, each) for each in axes}
    axis_map: AxisMap = {}
    position = 0
    for axis in range(query.data.rank):
        axis_map[0, axis] = None if axis in reduced_axes else position
        position += keepdims or axis not in reduced_axes
    return passed_through(query, axis_map)


def _reduction(query: TypeQuery, attributes: Reduction) -> tuple[TensorType, ...]:
    axes = range(query.data.rank) if attributes.axes is None else attributes.axes
    return _reduced(query, axes, attributes.keepdims)


def _arg(query: TypeQuery, attributes: Arg) -> tuple[TensorType, ...]:
    return _reduced(query, [attributes.axis], attributes.keepdims)


def _global_pool(query: TypeQuery, _: Attributes) -> tuple[TensorType, ...]:
    return _reduced(query, range(2, query.data.rank), True)


def _softmax(query: TypeQuery, attributes: Softmax) -> tuple[TensorType, ...]:
    # The extent of `axis` may be symbolic too.
    axis_of(query, attributes.axis)
    return passed_through(query, same_axes(query))


def _batch_norm(query: TypeQuery, _: Epsilon) -> tuple[TensorType, ...]:
    return passed_through(query, same_axes(query, 1))


def _normalised(statistics: Sequence[NDArray[Any]], attributes: Epsilon) -> ChannelAffine:
    scale, bias, mean, variance = (each.astype(np.float64) for each in statistics)
    return ChannelAffine(mean, scale / np.sqrt(variance + attributes.epsilon), bias)


def _last_axes(query: TypeQuery, attributes: LayerNorm) -> tuple[TensorType, ...]:
    return passed_through(
        query, {(0, axis): axis for axis in range(axis_of(query, attributes.axis))}
    )


_NORMS = ("data", "scale", "bias")

SPECS: tuple[AnyOp, ...] = (
    *(
        define_operator(
            function,
            # `reduce_log_sum_exp` reads its operand twice: it would compute fused operators twice.
            OpPattern.OUT_FUSABLE if function is reduce.reduce_log_sum_exp else OpPattern.REDUCTION,
            DATA,
            Reduction,
            _reduction,
            gradient=REDUCTIONS[function.__name__],
        )
        for function in reduce.REDUCTIONS
    ),
    define_operator(reduce.arg_max, OpPattern.OUT_FUSABLE, DATA, Arg, _arg),
    define_operator(reduce.arg_min, OpPattern.OUT_FUSABLE, DATA, Arg, _arg),
    *(
        define_operator(
            function, OpPattern.OUT_FUSABLE, DATA, attributes, leading(2), gradient=rule
        )
        for function, attributes, rule in (
            (pool.max_pool, MaxPool, pools.max_pool_gradient),
            (pool.average_pool, AveragePool, pools.average_pool_gradient),
            (pool.lp_pool, LpPool, pools.lp_pool_gradient),
        )
    ),
    define_operator(pool.max_pool_index, OpPattern.OUT_FUSABLE, DATA, MaxPoolIndex, leading(0)),
    *(
        define_operator(
            function, OpPattern.OUT_FUSABLE, DATA, Attributes, _global_pool, gradient=rule
        )
        for function, rule in (
            (pool.global_max_pool, global_max_gradient),
            (pool.global_average_pool, global_average_gradient),
        )
    ),
    *(
        define_operator(function, OpPattern.NORMALISATION, DATA, Softmax, _softmax, gradient=rule)
        for function, rule in (
            (norm.softmax, norms.softmax_gradient),
            (norm.log_softmax, norms.log_softmax_gradient),
        )
    ),
    define_operator(
        norm.batch_norm,
        OpPattern.BROADCAST,
        Operands((*_NORMS, "mean", "variance")),
        Epsilon,
        _batch_norm,
        channel_affine=_normalised,
        gradient=norms.batch_norm_gradient,
    ),
    define_operator(
        norm.instance_norm,
        OpPattern.NORMALISATION,
        Operands(_NORMS),
        Epsilon,
        leading(1),
        gradient=norms.instance_norm_gradient,
    ),
    define_operator(
        norm.layer_norm,
        OpPattern.NORMALISATION,
        Operands(_NORMS, 1),
        LayerNorm,
        _last_axes,
        gradient=norms.layer_norm_gradient,
    ),
    define_operator(
        norm.rms_norm,
        OpPattern.NORMALISATION,
        Operands(_NORMS[:2]),
        LayerNorm,
        _last_axes,
        gradient=norms.rms_norm_gradient,
    ),
)
