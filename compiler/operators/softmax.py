"""Softmax and its logarithm, without overflow."""

from __future__ import annotations

from collections.abc import Callable

from compiler import te
from compiler.ir.expr import Expr
from compiler.operators.broadcast import FLOATS, at
from compiler.operators.checks import axis_of, typed
from compiler.operators.reduce import reduce_max, reduce_sum, reduced
from compiler.te import Tensor, compute

__all__ = ["log_softmax", "softmax"]


def softmax(data: Tensor, *, axis: int = -1, name: str = "softmax") -> Tensor:
    """Powers of e, divided by their sum along `axis`.

    Stages: `{name}_max`, `{name}_exp`, `{name}_sum`, `name`.

    Raises
    ------
    TensorError
        No floats, no such axis, an empty one.
    """
    typed("softmax", name, data, *FLOATS)
    over = axis_of("softmax", name, data, axis)
    greatest = reduce_max(data, [over], name=f"{name}_max")
    powers = _each(data, f"{name}_exp", lambda i: te.exp(data[i] - at(greatest, i)))
    sums = reduce_sum(powers, [over], name=f"{name}_sum")
    return _each(data, name, lambda i: powers[i] / at(sums, i))


def log_softmax(data: Tensor, *, axis: int = -1, name: str = "log_softmax") -> Tensor:
    """The logarithm of `softmax`. Stages: `{name}_max`, `{name}_sum`, `name`.

    Raises
    ------
    TensorError
        As `softmax`.
    """
    typed("log_softmax", name, data, *FLOATS)
    over = axis_of("log_softmax", name, data, axis)
    greatest = reduce_max(data, [over], name=f"{name}_max")
    sums = reduced(
        "log_softmax",
        data,
        [over],
        te.sum,
        lambda i: te.exp(data[i] - at(greatest, i)),
        keepdims=True,
        name=f"{name}_sum",
    )
    return _each(data, name, lambda i: data[i] - at(greatest, i) - te.log(at(sums, i)))


def _each(data: Tensor, name: str, element: Callable[[tuple[Expr, ...]], Expr]) -> Tensor:
    """A tensor of `data`'s shape."""
    return compute(data.shape, lambda *i: element(i), name)
