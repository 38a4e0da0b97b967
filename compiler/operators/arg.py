"""Where the greatest and the least stand."""

from __future__ import annotations

from collections.abc import Callable

from compiler import te
from compiler.ir.dtypes import INDEX
from compiler.ir.expr import Expr
from compiler.operators.broadcast import NUMBERS, at
from compiler.operators.checks import axis_of, check_kind
from compiler.operators.reduce import reduce_max, reduce_min, reduced
from compiler.te import Tensor

__all__ = ["arg_max", "arg_min"]


def arg_max(
    data: Tensor,
    axis: int = 0,
    *,
    keepdims: bool = True,
    select_last_index: bool = False,
    name: str = "arg_max",
) -> Tensor:
    """Where the greatest stands, or the first NaN; of several, the first, or the last.

    Stages: `{name}_max`, `name`.
    """
    return _place("arg_max", reduce_max, data, axis, keepdims, select_last_index, name)


def arg_min(
    data: Tensor,
    axis: int = 0,
    *,
    keepdims: bool = True,
    select_last_index: bool = False,
    name: str = "arg_min",
) -> Tensor:
    """Where the least stands, or the first NaN; of several, the first, or the last.

    Stages: `{name}_min`, `name`.
    """
    return _place("arg_min", reduce_min, data, axis, keepdims, select_last_index, name)


def _place(
    operator: str,
    extreme: Callable[..., Tensor],
    data: Tensor,
    axis: int,
    keepdims: bool,
    last: bool,
    name: str,
) -> Tensor:
    """The first or last index along `axis` where `data` is its extreme."""
    check_kind(operator, name, data, *NUMBERS)
    number = axis_of(operator, name, data, axis)
    best = extreme(data, [number], keepdims=True, name=f"{name}_{operator[-3:]}")
    # Never the result: some element is the best one.
    elsewhere = te.const(-1 if last else data.shape[number], INDEX)

    def term(indices: tuple[Expr, ...]) -> Expr:
        here = te.equal(data[indices], at(best, indices))
        if data.dtype.is_float:
            here = here | te.not_equal(data[indices], data[indices])
        return te.select(here, indices[number], elsewhere)

    join = te.max if last else te.min
    return reduced(operator, data, [number], join, term, keepdims=keepdims, name=name)
