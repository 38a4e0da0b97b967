"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from compiler import te
from compiler.ir.dtypes import BOOL, FLOAT64, DType, Kind
from compiler.ir.expr import Expr
from compiler.operators.arithmetic import truncated_quotient
from compiler.operators.broadcast import ANY, FLOATS, NUMBERS, at
from compiler.operators.checks import axes_of, check_kind, refuse, show
from compiler.te import Tensor, compute, reduce_axis
from compiler.te.tensor import ReduceAxis, Reduction

__all__ = [
    "REDUCTIONS",
    "mapped",
    "reduce_l1",
    "reduce_l2",
    "reduce_log_sum",
    "reduce_log_sum_exp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reduce_sum_square",
    "reduced",
]

Join = Callable[[Expr, Sequence[ReduceAxis]], Reduction]


def reduced(
    operator: str,
    data: Tensor,
    axes: Sequence[int],
    join: Join,
    term: Callable[[tuple[Expr, ...]], Expr],
    *,
    keepdims: bool,
    name: str,
) -> Tensor:
    """`term` of all indices of `data`, joined along `axes` (ascending, from 0).

    Axis d is called `i{d}`, and `k{d}` along which it is joined. Without axes nothing is joined.
    """
    empty = [each for each in axes if data.shape[each] == 0]
    if empty:
        refuse(operator, name, f"axis {empty[0]} of {show(data)} is empty: nothing to reduce")
    over = {each: reduce_axis(data.shape[each], f"k{each}") for each in axes}
    kept = [each for each in range(len(data.shape)) if keepdims or each not in over]
    shape = [1 if each in over else data.shape[each] for each in kept]

    def element(*indices: Expr) -> Expr | Reduction:
        own: dict[int, Expr] = {**dict(zip(kept, indices, strict=True)), **over}
        value = term(tuple(own[each] for each in range(len(data.shape))))
        return join(value, tuple(over.values())) if over else value

    return compute(shape, element, name, [f"i{each}" for each in kept])


def mapped(tensor: Tensor, function: Callable[[Expr], Expr], name: str) -> Tensor:
    """`function` of every element."""
    axes = [each.name for each in tensor.source.axes] if tensor.source else None
    return compute(tensor.shape, lambda *i: function(tensor[i]), name, axes)


def _simple(
    operator: str,
    join: Join,
    before: Callable[[Expr], Expr],
    data: Tensor,
    axes: Sequence[int] | None,
    keepdims: bool,
    name: str,
    kinds: Sequence[Kind] = NUMBERS,
) -> Tensor:
    check_kind(operator, name, data, *kinds)
    return reduced(
        operator,
        data,
        axes_of(operator, name, data, axes),
        join,
        lambda i: before(data[i]),
        keepdims=keepdims,
        name=name,
    )


def reduce_sum(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "sum"
) -> Tensor:
    """The sum, in the type of `data`."""
    return _simple("reduce_sum", te.sum, _same, data, axes, keepdims, name)


def reduce_prod(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "prod"
) -> Tensor:
    """The product."""
    return _simple("reduce_prod", te.prod, _same, data, axes, keepdims, name)


def reduce_max(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "max"
) -> Tensor:
    """The greatest, NaN if one is; of bools, whether one holds."""
    join: Join = te.any_along if data.dtype == BOOL else te.max
    return _simple("reduce_max", join, _same, data, axes, keepdims, name, ANY)


def reduce_min(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "min"
) -> Tensor:
    """The least, NaN if one is; of bools, whether all hold."""
    join: Join = te.all_along if data.dtype == BOOL else te.min
    return _simple("reduce_min", join, _same, data, axes, keepdims, name, ANY)


def reduce_l1(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "l1"
) -> Tensor:
    """The sum of absolute values."""
    return _simple("reduce_l1", te.sum, te.abs, data, axes, keepdims, name)


def reduce_sum_square(
    data: Tensor,
    axes: Sequence[int] | None = None,
    *,
    keepdims: bool = True,
    name: str = "sum_square",
) -> Tensor:
    """The sum of squares."""
    return _simple("reduce_sum_square", te.sum, lambda x: x * x, data, axes, keepdims, name)


def reduce_mean(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "mean"
) -> Tensor:
    """The mean; of integers, summed in 64 bits and rounded towards zero.

    Stages: `{name}_sum`, `name`.
    """
    check_kind("reduce_mean", name, data, *NUMBERS)
    wide = data.dtype if data.dtype.is_float else DType(data.dtype.kind, 64)
    sums = _simple(
        "reduce_mean", te.sum, lambda x: te.cast(x, wide), data, axes, keepdims, f"{name}_sum"
    )
    count = prod(data.shape[each] for each in axes_of("reduce_mean", name, data, axes))
    if data.dtype.is_float:
        return mapped(sums, lambda x: x / float(count), name)
    divisor = te.const(count, wide)
    return mapped(sums, lambda x: te.cast(truncated_quotient(x, divisor), data.dtype), name)


def reduce_l2(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "l2"
) -> Tensor:
    """The root of the sum of squares; of integers, in float64, towards zero, and the greatest
    number of the type where that does not hold it. Stages: `{name}_sum`, `name`."""
    check_kind("reduce_l2", name, data, *NUMBERS)
    wide = data.dtype if data.dtype.is_float else FLOAT64
    sums = _simple(
        "reduce_l2",
        te.sum,
        lambda x: te.cast(x, wide) * te.cast(x, wide),
        data,
        axes,
        keepdims,
        f"{name}_sum",
    )
    return mapped(sums, lambda x: te.cast(te.sqrt(x), data.dtype), name)


def reduce_log_sum(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "log_sum"
) -> Tensor:
    """The logarithm of the sum. Stages: `{name}_sum`, `name`."""
    check_kind("reduce_log_sum", name, data, *FLOATS)
    return mapped(reduce_sum(data, axes, keepdims=keepdims, name=f"{name}_sum"), te.log, name)


def reduce_log_sum_exp(
    data: Tensor,
    axes: Sequence[int] | None = None,
    *,
    keepdims: bool = True,
    name: str = "log_sum_exp",
) -> Tensor:
    """The logarithm of the sum of powers of e, without overflow.

    Stages: `{name}_max`, `{name}_sum`, `name`.
    """
    check_kind("reduce_log_sum_exp", name, data, *FLOATS)
    over = axes_of("reduce_log_sum_exp", name, data, axes)
    join = partial(reduced, "reduce_log_sum_exp", data, over)
    greatest = join(te.max, lambda i: data[i], keepdims=True, name=f"{name}_max")
    sums = join(
        te.sum,
        lambda i: te.exp(data[i] - _finite(at(greatest, i))),
        keepdims=True,
        name=f"{name}_sum",
    )
    kept = [each for each in range(len(data.shape)) if keepdims or each not in over]

    def element(*indices: Expr) -> Expr:
        own = dict(zip(kept, indices, strict=True))
        place = tuple(own.get(each, 0) for each in range(len(data.shape)))
        return te.log(sums[place]) + _finite(greatest[place])

    shape = [sums.shape[each] for each in kept]
    return compute(shape, element, name, [f"i{each}" for each in kept])


def _same(x: Expr) -> Expr:
    return x


def _finite(greatest: Expr) -> Expr:
    """What is subtracted from exponents: an infinite one would leave NaN."""
    return te.select(
        te.equal(te.abs(greatest), float("inf")), te.const(0, greatest.dtype), greatest
    )


REDUCTIONS: tuple[Callable[..., Tensor], ...] = (
    *(reduce_l1, reduce_l2, reduce_log_sum, reduce_log_sum_exp, reduce_max, reduce_mean),
    *(reduce_min, reduce_prod, reduce_sum, reduce_sum_square),
)
"""All of them. All axes are reduced by default; `keepdims` leaves them with extent 1."""
