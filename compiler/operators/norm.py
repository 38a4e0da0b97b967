"""Normalisation at inference, and softmax, of float tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tandem.compiler import te
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import FLOATS, at, broadcast_shape
from tandem.compiler.operators.checks import axis_of, check_kind, refuse, show
from tandem.compiler.operators.reduce import mapped, reduce_max, reduce_sum, reduced
from tandem.compiler.te import Tensor, compute


def batch_norm(
    data: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 1e-5,
    name: str = "batch_norm",
) -> Tensor:
    """`(data - mean) / sqrt(variance + epsilon) * scale + bias`, with parameters for each channel.

    Stages: `{name}_factor`, [C]; `name`.

    Raises
    ------
    TensorError
        A type is no float, or a parameter has not one number per channel (axis 1).
    """
    channels = _channels("batch_norm", name, data, (scale, bias, mean, variance))
    factor = compute(
        (channels,), lambda c: scale[c] / te.sqrt(variance[c] + epsilon), f"{name}_factor"
    )

    def element(*i: Expr) -> Expr:
        return (data[i] - mean[i[1]]) * factor[i[1]] + bias[i[1]]

    return compute(data.shape, element, name)


def instance_norm(
    data: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5, name: str = "instance_norm"
) -> Tensor:
    """Each channel of each image, normalised to mean 0 and variance 1, * `scale` + `bias`.

    The stages are those of `layer_norm`.

    Raises
    ------
    TensorError
        A type is no float; spatial axes are missing or empty; not one number per channel.
    """
    _channels("instance_norm", name, data, (scale, bias))
    over = range(2, len(data.shape))
    if not over:
        refuse("instance_norm", name, f"{show(data)} has no spatial axes")
    centred, factor = _standard("instance_norm", data, over, epsilon, True, name)
    return compute(
        data.shape,
        lambda *i: centred(i) * at(factor, i) * scale[i[1]] + bias[i[1]],
        name,
    )


def layer_norm(
    data: Tensor,
    scale: Tensor,
    bias: Tensor | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    name: str = "layer_norm",
) -> Tensor:
    """`data` normalised to mean 0, variance 1 over axes from `axis` on, * `scale` + `bias`.

    Stages: `{name}_total`, `{name}_mean`, `{name}_squares`, `{name}_factor`, `name`.

    Raises
    ------
    TensorError
        A type is no float; the axis is missing or empty; scale or bias does not broadcast.
    """
    over = _last_axes("layer_norm", name, data, axis, (scale, *([bias] if bias else [])))
    centred, factor = _standard("layer_norm", data, over, epsilon, True, name)

    def element(*i: Expr) -> Expr:
        value = centred(i) * at(factor, i) * at(scale, i)
        return value if bias is None else value + at(bias, i)

    return compute(data.shape, element, name)


def rms_norm(
    data: Tensor,
    scale: Tensor,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    name: str = "rms_norm",
) -> Tensor:
    """`data` normalised to mean square 1 over axes from `axis` on, times `scale`.

    Stages: `{name}_squares`, `{name}_factor`, `name`.

    Raises
    ------
    TensorError
        The errors of `layer_norm`.
    """
    over = _last_axes("rms_norm", name, data, axis, (scale,))
    centred, factor = _standard("rms_norm", data, over, epsilon, False, name)
    return compute(data.shape, lambda *i: centred(i) * at(factor, i) * at(scale, i), name)


def _standard(
    operator: str, data: Tensor, axes: Sequence[int], epsilon: float, centre: bool, name: str
) -> tuple[Callable[[tuple[Expr, ...]], Expr], Tensor]:
    """`data - mean` as a function of indices, and 1 / sqrt(variance + epsilon), along `axes`."""
    count = prod(data.shape[each] for each in axes)

    def summed(term: Callable[[tuple[Expr, ...]], Expr], stage: str) -> Tensor:
        return reduced(operator, data, axes, te.sum, term, keepdims=True, name=f"{name}_{stage}")

    def centred(i: tuple[Expr, ...]) -> Expr:
        return data[i] - at(mean, i) if mean is not None else data[i]

    mean: Tensor | None = None
    if centre:
        total = summed(lambda i: data[i], "total")
        mean = mapped(total, lambda x: x / float(count), f"{name}_mean")
    squares = summed(lambda i: centred(i) * centred(i), "squares")
    factor = mapped(squares, lambda x: 1.0 / te.sqrt(x / float(count) + epsilon), f"{name}_factor")
    return centred, factor


def _channels(operator: str, name: str, data: Tensor, given: Sequence[Tensor]) -> int:
    check_kind(operator, name, data, *FLOATS)
    if len(data.shape) < 2:
        refuse(operator, name, f"{show(data)} has to have 2 dimensions or more, N and C")
    channels = data.shape[1]
    for parameter in given:
        if parameter.shape != (channels,) or parameter.dtype != data.dtype:
            refuse(operator, name, f"{show(parameter)} has to be {data.dtype}[{channels}]")
    return channels


def _last_axes(operator: str, name: str, data: Tensor, axis: int, given: Sequence[Tensor]) -> range:
    check_kind(operator, name, data, *FLOATS)
    for parameter in given:
        shape = broadcast_shape(operator, name, (data, parameter))
        if shape != data.shape or parameter.dtype != data.dtype:
            refuse(operator, name, f"{show(parameter)} does not broadcast to {show(data)}")
    return range(axis_of(operator, name, data, axis), len(data.shape))


def softmax(data: Tensor, *, axis: int = -1, name: str = "softmax") -> Tensor:
    """exp(data) times the reciprocal of its sum along `axis`.

    Stages: `{name}_max`, `{name}_exp`, `{name}_sum`, `{name}_factor`, `name`.

    Raises
    ------
    TensorError
        The type is no float; the axis is missing.
    """
    check_kind("softmax", name, data, *FLOATS)
    over = axis_of("softmax", name, data, axis)
    greatest = reduce_max(data, [over], name=f"{name}_max")
    powers = compute(data.shape, lambda *i: te.exp(data[i] - at(greatest, i)), f"{name}_exp")
    sums = reduce_sum(powers, [over], name=f"{name}_sum")
    factor = mapped(sums, lambda x: 1.0 / x, f"{name}_factor")
    return compute(data.shape, lambda *i: powers[i] * at(factor, i), name)


def log_softmax(data: Tensor, *, axis: int = -1, name: str = "log_softmax") -> Tensor:
    """The logarithm of `softmax`. Stages: `{name}_max`, `{name}_sum`, `name`.

    Raises
    ------
    TensorError
        The errors of `softmax`.
    """
    check_kind("log_softmax", name, data, *FLOATS)
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
