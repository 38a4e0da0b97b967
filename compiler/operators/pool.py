"""Pooling over windows or all spatial axes, of which there are one to three."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from compiler import te
from compiler.ir.expr import Expr
from compiler.operators.broadcast import FLOATS, NUMBERS
from compiler.operators.checks import check_kind, refuse, show
from compiler.operators.reduce import reduce_max, reduce_mean
from compiler.operators.window import SPATIAL, Window, padded, sees_data, windows
from compiler.te import Tensor, compute, reduce_axis
from compiler.te.tensor import Combiner, ReduceAxis, Reduction


def max_pool(
    data: Tensor,
    kernel: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
    name: str = "max_pool",
) -> Tensor:
    """The greatest element in each window, padding excluded: `name[n, c, y, x]`, over `ky`, `kx`.

    Stages: `{name}_pad` if there is padding, `name`.

    Parameters
    ----------
    data
        [N, C, spatial...], one to three spatial axes.
    strides, dilation
        1 by default.
    padding
        Before each spatial axis, then after each; 0 by default.
    ceil_mode
        Whether a last window that begins before the trailing padding may exceed the padding.

    Raises
    ------
    TensorError
        Ranks or types do not fit; a window is larger than the image, or covers only padding.
    """
    check_kind("max_pool", name, data, *NUMBERS)
    slides = _windows("max_pool", name, data, kernel, strides, padding, dilation, ceil_mode)
    sees_data("max_pool", name, data, slides)
    lowest = Combiner.MAX.identity(data.dtype).value
    return _pooled(data, slides, te.max, lowest, name)


def average_pool(
    data: Tensor,
    kernel: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    name: str = "average_pool",
) -> Tensor:
    """The mean of the floats in each window; other parameters are those of `max_pool`.

    With `count_include_pad`, padding counts as zeros; elements beyond the padding never count.
    Stages: `{name}_pad` if there is padding, `{name}_sum`, `name`.

    Raises
    ------
    TensorError
        The errors of `max_pool`.
    """
    check_kind("average_pool", name, data, *FLOATS)
    slides = _windows("average_pool", name, data, kernel, strides, padding, dilation, ceil_mode)
    if not count_include_pad:
        sees_data("average_pool", name, data, slides)
    sums = _pooled(data, slides, te.sum, 0, f"{name}_sum")

    def element(*indices: Expr) -> Expr:
        counts = [
            _covered(window, i, count_include_pad)
            for window, i in zip(slides, indices[2:], strict=True)
        ]
        size = prod(each for each in counts if isinstance(each, int))
        divisor: Expr = te.const(float(size), data.dtype)
        for count in counts:
            if not isinstance(count, int):
                divisor = divisor * te.cast(count, data.dtype)
        return sums[indices] / divisor

    return compute(sums.shape, element, name, ("n", "c", *SPATIAL[len(slides)]))


def global_average_pool(data: Tensor, *, name: str = "global_average_pool") -> Tensor:
    """The mean over all spatial axes, kept with extent 1. Stages: `{name}_sum`, `name`."""
    return reduce_mean(data, _spatial("global_average_pool", name, data), name=name)


def global_max_pool(data: Tensor, *, name: str = "global_max_pool") -> Tensor:
    """The maximum over all spatial axes, kept with extent 1."""
    return reduce_max(data, _spatial("global_max_pool", name, data), name=name)


def _windows(
    operator: str,
    name: str,
    data: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    padding: Sequence[int] | None,
    dilation: Sequence[int] | None,
    ceil_mode: bool,
) -> tuple[Window, ...]:
    ones, zeros = (1,) * len(kernel), (0, 0) * len(kernel)
    return windows(
        operator,
        name,
        data,
        kernel,
        ones if strides is None else strides,
        zeros if padding is None else padding,
        ones if dilation is None else dilation,
        ceil_mode,
    )


def _pooled(
    data: Tensor,
    slides: Sequence[Window],
    combine: Callable[[Expr, Sequence[ReduceAxis]], Reduction],
    filler: float,
    name: str,
) -> Tensor:
    """A reduction over the windows of `data`, padded with `filler`."""
    image = padded(data, slides, f"{name.removesuffix('_sum')}_pad", filler)
    names = SPATIAL[len(slides)]
    over = [reduce_axis(each.kernel, f"k{axis}") for axis, each in zip(names, slides, strict=True)]

    def element(n: Expr, c: Expr, *places: Expr) -> Reduction:
        own = tuple(each.place(i, k) for i, k, each in zip(places, over, slides, strict=True))
        return combine(image[(n, c, *own)], over)

    shape = (*data.shape[:2], *(each.count for each in slides))
    return compute(shape, element, name, ("n", "c", *names))


def _covered(window: Window, i: Expr, with_padding: bool) -> Expr | int:
    """The number of elements of window `i` that an average divides by."""
    low = -window.before if with_padding else 0
    high = window.extent + (window.after if with_padding else 0)
    reach = (window.kernel - 1) * window.dilation
    last = (window.count - 1) * window.stride - window.before
    if -window.before >= low and last + reach < high:
        return window.kernel
    # Positions start + k * dilation, k in 0..kernel-1, that lie in low..high-1.
    start = i * window.stride - window.before
    first = te.maximum((low - start + window.dilation - 1) // window.dilation, 0)
    end = te.minimum((high - start + window.dilation - 1) // window.dilation, window.kernel)
    return end - first


def _spatial(operator: str, name: str, data: Tensor) -> tuple[int, ...]:
    if len(data.shape) < 3:
        refuse(operator, name, f"{show(data)} has to have 3 dimensions or more, N, C and spatial")
    return tuple(range(2, len(data.shape)))
