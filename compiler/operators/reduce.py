"""Reductions along axes, argmax and argmin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from tandem.compiler import te
from tandem.compiler.ir.dtypes import BOOL, FLOAT64, INDEX, DType, Kind
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import index
from tandem.compiler.operators.arithmetic import truncated_quotient
from tandem.compiler.operators.broadcast import COMPARED, FLOATS, NUMBERS, at
from tandem.compiler.operators.checks import axes_of, axis_of, check_kind, refuse, show
from tandem.compiler.operators.stripes import Combine, is_striped, striped
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import Combiner, Reduction


def reduced(
    operator: str,
    data: Tensor,
    axes: Sequence[int],
    combine: Combine,
    term: Callable[[tuple[Expr, ...]], Expr],
    *,
    keepdims: bool,
    name: str,
    empty: Expr | None = None,
) -> Tensor:
    """The reduction by `combine` of `term`, a function of `data`'s indices, along sorted `axes`.

    Axis d is named `i{d}`, or `k{d}` if it is reduced. Without axes the result is `term`. `empty`
    is the result along an axis without elements, by default an error. Long rows of floats are
    reduced in stripes (`striped`), which have stages of their own.
    """
    missing = [each for each in axes if data.shape[each] == 0]
    if missing and empty is None:
        refuse(operator, name, f"axis {missing[0]} of {show(data)} is empty: nothing to reduce")
    if missing:
        kept = [each for each in range(len(data.shape)) if keepdims or each not in axes]
        shape = [1 if each in axes else data.shape[each] for each in kept]
        return compute(shape, lambda *_: empty, name, [f"i{each}" for each in kept])  # type: ignore[arg-type]
    over = {each: reduce_axis(data.shape[each], f"k{each}") for each in axes}
    kept = [each for each in range(len(data.shape)) if keepdims or each not in over]
    shape = [1 if each in over else data.shape[each] for each in kept]
    sample = term(tuple(over.get(each, index(0)) for each in range(len(data.shape))))
    if is_striped(data.shape, over, sample):
        return striped(data.shape, over, kept, combine, term, name)

    def element(*indices: Expr) -> Expr | Reduction:
        own: dict[int, Expr] = {**dict(zip(kept, indices, strict=True)), **over}
        value = term(tuple(own[each] for each in range(len(data.shape))))
        return combine(value, tuple(over.values())) if over else value

    return compute(shape, element, name, [f"i{each}" for each in kept])


def mapped(tensor: Tensor, function: Callable[[Expr], Expr], name: str) -> Tensor:
    """`function` applied to every element."""
    axes = [each.name for each in tensor.source.axes] if tensor.source else None
    return compute(tensor.shape, lambda *i: function(tensor[i]), name, axes)


def _reduce(
    operator: str,
    combine: Combine,
    before: Callable[[Expr], Expr],
    data: Tensor,
    axes: Sequence[int] | None,
    keepdims: bool,
    name: str,
    kinds: Sequence[Kind] = NUMBERS,
    empty: Callable[[DType], Expr] | None = None,
) -> Tensor:
    check_kind(operator, name, data, *kinds)
    return reduced(
        operator,
        data,
        axes_of(operator, name, data, axes),
        combine,
        lambda i: before(data[i]),
        keepdims=keepdims,
        name=name,
        empty=None if empty is None else empty(data.dtype),
    )


def _zero(dtype: DType) -> Expr:
    return te.const(0, dtype)


def _least(dtype: DType) -> Expr:
    """No number of a type is less."""
    return Combiner.ANY.identity(dtype) if dtype == BOOL else Combiner.MAX.identity(dtype)


def _greatest(dtype: DType) -> Expr:
    """No number of a type is greater."""
    return Combiner.ALL.identity(dtype) if dtype == BOOL else Combiner.MIN.identity(dtype)


def reduce_sum(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "sum"
) -> Tensor:
    """The sum, of the element type of `data`."""
    return _reduce("reduce_sum", te.sum, _same, data, axes, keepdims, name, empty=_zero)


def reduce_prod(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "prod"
) -> Tensor:
    """The product."""
    return _reduce(
        "reduce_prod",
        te.prod,
        _same,
        data,
        axes,
        keepdims,
        name,
        empty=lambda dtype: te.const(1, dtype),
    )


def reduce_max(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "max"
) -> Tensor:
    """The maximum, NaN if an element is NaN; of bools, whether any is true."""
    combine: Combine = te.any_along if data.dtype == BOOL else te.max
    return _reduce("reduce_max", combine, _same, data, axes, keepdims, name, COMPARED, _least)


def reduce_min(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "min"
) -> Tensor:
    """The minimum, NaN if an element is NaN; of bools, whether all are true."""
    combine: Combine = te.all_along if data.dtype == BOOL else te.min
    return _reduce("reduce_min", combine, _same, data, axes, keepdims, name, COMPARED, _greatest)


def reduce_l1(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "l1"
) -> Tensor:
    """The sum of absolute values."""
    return _reduce("reduce_l1", te.sum, te.abs, data, axes, keepdims, name, empty=_zero)


def reduce_sum_square(
    data: Tensor,
    axes: Sequence[int] | None = None,
    *,
    keepdims: bool = True,
    name: str = "sum_square",
) -> Tensor:
    """The sum of squares."""
    return _reduce(
        "reduce_sum_square",
        te.sum,
        lambda x: x * x,
        data,
        axes,
        keepdims,
        name,
        empty=_zero,
    )


def reduce_mean(
    data: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = True, name: str = "mean"
) -> Tensor:
    """The mean; integers are summed in 64 bits and their mean is rounded towards zero.

    Stages: `{name}_sum`, `name`.
    """
    check_kind("reduce_mean", name, data, *NUMBERS)
    wide = data.dtype if data.dtype.is_float else DType(data.dtype.kind, 64)
    sums = _reduce(
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
    """The square root of the sum of squares; for integers computed in float64, rounded towards zero
    and saturated. Stages: `{name}_sum`, `name`."""
    check_kind("reduce_l2", name, data, *NUMBERS)
    wide = data.dtype if data.dtype.is_float else FLOAT64
    sums = _reduce(
        "reduce_l2",
        te.sum,
        lambda x: te.cast(x, wide) * te.cast(x, wide),
        data,
        axes,
        keepdims,
        f"{name}_sum",
        empty=lambda _: te.const(0, wide),
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
    """The logarithm of the sum of exponentials, without overflow.

    Stages: `{name}_max`, `{name}_sum`, `name`.
    """
    check_kind("reduce_log_sum_exp", name, data, *FLOATS)
    over = axes_of("reduce_log_sum_exp", name, data, axes)
    if any(data.shape[each] == 0 for each in over):
        # The logarithm of 0.
        return _reduce(
            "reduce_log_sum_exp", te.sum, _same, data, axes, keepdims, name, FLOATS, _least
        )
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
    """The maximum to subtract from exponents; 0 if it is infinite, which would give NaN."""
    return te.select(
        te.equal(te.abs(greatest), float("inf")), te.const(0, greatest.dtype), greatest
    )


REDUCTIONS: tuple[Callable[..., Tensor], ...] = (
    *(reduce_l1, reduce_l2, reduce_log_sum, reduce_log_sum_exp, reduce_max, reduce_mean),
    *(reduce_min, reduce_prod, reduce_sum, reduce_sum_square),
)
"""All reductions. By default all axes are reduced; `keepdims` keeps them with extent 1."""


def arg_max(
    data: Tensor,
    axis: int = 0,
    *,
    keepdims: bool = True,
    select_last_index: bool = False,
    name: str = "arg_max",
) -> Tensor:
    """The first, or last, index of the greatest element along `axis`; NaN counts as greatest.

    Stages: `{name}_max`, `name`.
    """
    return _position("arg_max", reduce_max, data, axis, keepdims, select_last_index, name)


def arg_min(
    data: Tensor,
    axis: int = 0,
    *,
    keepdims: bool = True,
    select_last_index: bool = False,
    name: str = "arg_min",
) -> Tensor:
    """The first, or last, index of the least element along `axis`; NaN counts as least.

    Stages: `{name}_min`, `name`.
    """
    return _position("arg_min", reduce_min, data, axis, keepdims, select_last_index, name)


def _position(
    operator: str,
    extreme: Callable[..., Tensor],
    data: Tensor,
    axis: int,
    keepdims: bool,
    last: bool,
    name: str,
) -> Tensor:
    """The first or last index along `axis` where `data` equals its extreme value."""
    check_kind(operator, name, data, *NUMBERS)
    number = axis_of(operator, name, data, axis)
    best = extreme(data, [number], keepdims=True, name=f"{name}_{operator[-3:]}")
    # The reduction's identity; never the result, because some element equals the extreme.
    elsewhere = te.const(-1 if last else data.shape[number], INDEX)

    def term(indices: tuple[Expr, ...]) -> Expr:
        here = te.equal(data[indices], at(best, indices))
        if data.dtype.is_float:
            here = here | te.not_equal(data[indices], data[indices])
        return te.select(here, indices[number], elsewhere)

    join = te.max if last else te.min
    return reduced(operator, data, [number], join, term, keepdims=keepdims, name=name)
