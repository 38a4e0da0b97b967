"""Convolutions, dense layers and matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.operators.gradients.convolutions import conv2d_gradient
from tandem.compiler.graph.operators.gradients.products import (
    dense_gradient,
    gemm_gradient,
    matmul_gradient,
)
from tandem.compiler.graph.operators.symbolic import AxisMap, broadcast, leading, passed_through
from tandem.compiler.graph.opspec import (
    AnyOp,
    Linear,
    Operands,
    OpPattern,
    TypeQuery,
    define_operator,
)
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import DType
from tandem.compiler.operators.conv2d import conv2d
from tandem.compiler.operators.matmul import dense, gemm, matmul


@dataclass(frozen=True, slots=True)
class Conv2d(Attributes):
    """Attributes of `conv2d`, rows before columns; padding is top, left, bottom, right."""

    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1
    out_dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Product(Attributes):
    """The result's element type; None for the default of the operands' types."""

    out_dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Gemm(Attributes):
    """Attributes of alpha * a @ b + beta * c; `trans_a` and `trans_b` transpose a and b."""

    alpha: float = 1.0
    beta: float = 1.0
    trans_a: bool = False
    trans_b: bool = False


def _gemm_symbolic(query: TypeQuery, attributes: Gemm) -> tuple[TensorType, ...]:
    rows, columns = (0, 1)[attributes.trans_a], (1, 0)[attributes.trans_b]
    axis_map: AxisMap = {(0, rows): 0, (1, columns): 1}
    addends = query.types[2:]
    # An extent of c may be symbolic if the product has the same extent.
    axis_map |= {(2, axis): None for c in addends for axis in range(c.rank)}
    (found,) = passed_through(query, axis_map)
    if any(broadcast(query, [found.shape, c.shape]) != found.shape for c in addends):
        query.fail(f"{query.show(2)} does not broadcast to {found}")
    return (found,)


def _matmul_symbolic(query: TypeQuery, _: Product) -> tuple[TensorType, ...]:
    a, b = (each.shape for each in query.types)
    if not a or not b:
        query.fail(f"{query.show_all()}: a scalar is no matrix")
    depth, other = a[-1], b[-2:][0]
    if depth != other:
        query.fail(f"{query.show_all()} meet with {depth} and {other} elements")
    if depth == 0:
        query.fail(f"{query.show_all()} meet with none: nothing to sum")
    stack = broadcast(query, [a[:-2], b[:-2]])
    (found,) = query.infer([(1,), (1,)])
    return (TensorType((*stack, *a[-2:-1], *b[1:][-1:]), found.dtype),)


def _linear(operands: Sequence[NDArray[Any]], attributes: Conv2d | Product) -> Linear:
    weight, *bias = (each.astype(np.float64) for each in operands)
    return Linear(weight, 0, bias[0] if bias else np.zeros(len(weight)), attributes)


def _gemm_linear(operands: Sequence[NDArray[Any]], attributes: Gemm) -> Linear | None:
    weight, *rest = (each.astype(np.float64) for each in operands)
    axis = 0 if attributes.trans_b else 1
    channels = weight.shape[axis]
    bias = rest[0] if rest else np.zeros(channels)
    if bias.size != 1 and bias.shape[-1:] != (bias.size,):
        # The bias differs from row to row.
        return None
    flat = np.broadcast_to(bias.reshape(-1), (channels,))
    plain = replace(attributes, alpha=1.0, beta=1.0)
    return Linear(weight * attributes.alpha, axis, flat * attributes.beta, plain)


_LAYER = Operands(("data", "weight", "bias"), optional=1)
_MATRICES = Operands(("a", "b", "c"), optional=1)

SPECS: tuple[AnyOp, ...] = (
    define_operator(
        conv2d,
        OpPattern.OUT_FUSABLE,
        _LAYER,
        Conv2d,
        leading(1),
        takes_borders=True,
        linear=_linear,
        gradient=conv2d_gradient,
    ),
    define_operator(
        dense,
        OpPattern.OUT_FUSABLE,
        _LAYER,
        Product,
        leading(1),
        linear=_linear,
        gradient=dense_gradient,
    ),
    define_operator(
        gemm,
        OpPattern.OUT_FUSABLE,
        _MATRICES,
        Gemm,
        _gemm_symbolic,
        linear=_gemm_linear,
        gradient=gemm_gradient,
    ),
    define_operator(
        matmul,
        OpPattern.OUT_FUSABLE,
        Operands(("a", "b")),
        Product,
        _matmul_symbolic,
        gradient=matmul_gradient,
    ),
)
