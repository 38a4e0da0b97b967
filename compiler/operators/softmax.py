"""Softmax and its logarithm, without overflow."""

from __future__ import annotations

from compiler import te
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
    powers = compute(data.shape, lambda *i: te.exp(data[i] - at(greatest, i)), f"{name}_exp")
    sums = reduce_sum(powers, [over], name=f"{name}_sum")
    return compute(data.shape, lambda *i: powers[i] / at(sums, i), name)


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
    return compute(data.shape, lambda *i: data[i] - at(greatest, i) - te.log(at(sums, i)), name)
