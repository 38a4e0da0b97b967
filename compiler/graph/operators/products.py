"""Operators that sum products: convolutions, dense layers, products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.graph.attributes import Attributes
from compiler.graph.operators.symbolic import broadcast, carried, leading
from compiler.graph.opspec import AnyOp, Ask, Linear, Operands, Pattern, computed_by
from compiler.graph.types import TensorType
from compiler.ir.dtypes import DType
from compiler.operators.conv2d import conv2d
from compiler.operators.matmul import dense, gemm, matmul

__all__ = ["SPECS", "Conv2d", "Gemm", "Product"]


@dataclass(frozen=True, slots=True)
class Conv2d(Attributes):
    """Two numbers an axis; padding is top, left, bottom, right. See `compiler.operators.conv2d`."""

    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1
    out_dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Product(Attributes):
    """The type of sums, if it does not follow from the operands'."""

    out_dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Gemm(Attributes):
    """alpha * a @ b + beta * c, with a or b transposed."""

    alpha: float = 1.0
    beta: float = 1.0
    trans_a: bool = False
    trans_b: bool = False


def _gemm_symbolic(ask: Ask, given: Gemm) -> tuple[TensorType, ...]:
    rows, columns = (0, 1)[given.trans_a], (1, 0)[given.trans_b]
    free: dict[tuple[int, int], int | None] = {(0, rows): 0, (1, columns): 1}
    addends = ask.types[2:]
    # c has a symbol where the product has the same one.
    free |= {(2, axis): None for c in addends for axis in range(c.rank)}
    (found,) = carried(ask, free)
    if any(broadcast(ask, [found.shape, c.shape]) != found.shape for c in addends):
        ask.fail(f"{ask.show(2)} does not broadcast to {found}")
    return (found,)


def _matmul_symbolic(ask: Ask, _: Product) -> tuple[TensorType, ...]:
    a, b = (each.shape for each in ask.types)
    if not a or not b:
        ask.fail(f"{ask.show_all()}: a scalar is no matrix")
    depth, other = a[-1], b[-2:][0]
    if depth != other:
        ask.fail(f"{ask.show_all()} meet with {depth} and {other} elements")
    if depth == 0:
        ask.fail(f"{ask.show_all()} meet with none: nothing to sum")
    stack = broadcast(ask, [a[:-2], b[:-2]])
    (found,) = ask.answer([(1,), (1,)])
    return (TensorType((*stack, *a[-2:-1], *b[1:][-1:]), found.dtype),)


def _linear(operands: Sequence[NDArray[Any]], given: Conv2d | Product) -> Linear:
    weight, *bias = (each.astype(np.float64) for each in operands)
    return Linear(weight, 0, bias[0] if bias else np.zeros(len(weight)), given)


def _gemm_linear(operands: Sequence[NDArray[Any]], given: Gemm) -> Linear | None:
    weight, *rest = (each.astype(np.float64) for each in operands)
    axis = 0 if given.trans_b else 1
    channels = weight.shape[axis]
    bias = rest[0] if rest else np.zeros(channels)
    if bias.size not in (1, channels) or bias.shape[-1:] not in ((), (1,), (channels,)):
        # It differs from row to row.
        return None
    flat = np.broadcast_to(bias.reshape(-1), (channels,))
    plain = replace(given, alpha=1.0, beta=1.0)
    return Linear(weight * given.alpha, axis, flat * given.beta, plain)


_LAYER = Operands(("data", "weight", "bias"), optional=1)
_MATRICES = Operands(("a", "b", "c"), optional=1)

SPECS: tuple[AnyOp, ...] = (
    computed_by(conv2d, Pattern.OUT_FUSABLE, _LAYER, Conv2d, leading(1), linear=_linear),
    computed_by(dense, Pattern.OUT_FUSABLE, _LAYER, Product, leading(1), linear=_linear),
    computed_by(gemm, Pattern.OUT_FUSABLE, _MATRICES, Gemm, _gemm_symbolic, linear=_gemm_linear),
    computed_by(matmul, Pattern.OUT_FUSABLE, Operands(("a", "b")), Product, _matmul_symbolic),
)
