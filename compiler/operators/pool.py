"""Pooling over windows or all spatial axes, of which there are one to three."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Unpack

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import FLOATS, NUMBERS
from tandem.compiler.operators.checks import check_kind, refuse, show
from tandem.compiler.operators.reduce import mapped, reduce_max, reduce_mean
from tandem.compiler.operators.window import (
    SPATIAL,
    Slides,
    Window,
    check_windows,
    padded,
    windows,
)
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import Combiner, ReduceAxis, Reduction


def max_pool(
    data: Tensor,
    kernel: Sequence[int],
    *,
    name: str = "max_pool",
    **slides: Unpack[Slides],
) -> Tensor:
    """The greatest element in each window, padding excluded: `name[n, c, y, x]`, over `ky`, `kx`.

    Stages: `{name}_pad` if there is padding, `name`.

    Parameters
    ----------
    data
        [N, C, spatial...], one to three spatial axes.
    slides
        As `windows` takes them.

    Raises
    ------
    TensorError
        Ranks or types do not fit; a window is larger than the image, or covers only padding.
    """
    check_kind("max_pool", name, data, *NUMBERS)
    found = windows("max_pool", name, data, kernel, **slides)
    check_windows("max_pool", name, data, found)
    lowest = Combiner.MAX.identity(data.dtype).value
    return _pooled(data, found, te.max, lowest, name)


def average_pool(
    data: Tensor,
    kernel: Sequence[int],
    *,
    count_include_pad: bool = False,
    name: str = "average_pool",
    **slides: Unpack[Slides],
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
    found = windows("average_pool", name, data, kernel, **slides)
    if not count_include_pad:
        check_windows("average_pool", name, data, found)
    sums = _pooled(data, found, te.sum, 0, f"{name}_sum")

    def element(*indices: Expr) -> Expr:
        counts = [
            _covered(window, i, count_include_pad)
            for window, i in zip(found, indices[2:], strict=True)
        ]
        size = prod(each for each in counts if isinstance(each, int))
        divisor: Expr = te.const(float(size), data.dtype)
        for count in counts:
            if not isinstance(count, int):
                divisor = divisor * te.cast(count, data.dtype)
        return sums[indices] / divisor

    return compute(sums.shape, element, name, ("n", "c", *SPATIAL[len(found)]))


def lp_pool(
    data: Tensor,
    kernel: Sequence[int],
    *,
    p: int = 2,
    name: str = "lp_pool",
    **slides: Unpack[Slides],
) -> Tensor:
    """The p-norm of each window, in which padding is 0; other parameters are those of `max_pool`.

    Stages: `{name}_power`, `{name}_pad` if there is padding, `{name}_sum`, `name`.

    Raises
    ------
    TensorError
        The errors of `max_pool`; `p` is not positive.
    """
    check_kind("lp_pool", name, data, *FLOATS)
    if p < 1:
        refuse("lp_pool", name, f"p is {p}, not 1 or more")
    found = windows("lp_pool", name, data, kernel, **slides)

    def power(x: Expr) -> Expr:
        match p:
            case 1:
                return te.abs(x)
            case 2:
                return x * x
            case _:
                return te.power(te.abs(x), te.const(float(p), data.dtype))

    powers = mapped(data, power, f"{name}_power")
    sums = _pooled(powers, found, te.sum, 0, f"{name}_sum")

    def root(x: Expr) -> Expr:
        if p == 1:
            return x
        return te.sqrt(x) if p == 2 else te.power(x, te.const(1 / p, data.dtype))

    return mapped(sums, root, name)


def max_pool_index(
    data: Tensor,
    kernel: Sequence[int],
    *,
    columns_first: bool = False,
    name: str = "max_pool_index",
    **slides: Unpack[Slides],
) -> Tensor:
    """The position in `data`, as int64, of the first greatest element of each window.

    Stages: those of `max_pool` under `{name}_max`, `name`.

    Parameters
    ----------
    columns_first
        Whether positions count along the first spatial axis first; images follow one another
        either way.

    Raises
    ------
    TensorError
        The errors of `max_pool`, whose other parameters are the same.
    """
    found = windows("max_pool_index", name, data, kernel, **slides)
    greatest = max_pool(data, kernel, name=f"{name}_max", **slides)
    names = SPATIAL[len(found)]
    over = [reduce_axis(each.kernel, f"k{axis}") for axis, each in zip(names, found, strict=True)]

    def element(n: Expr, c: Expr, *places: Expr) -> Reduction:
        own = [
            window.place(i, k) - window.before
            for i, k, window in zip(places, over, found, strict=True)
        ]
        value = data[(n, c, *own)]
        most = greatest[(n, c, *places)]
        greatest_here = te.any_of(te.equal(value, most), te.not_equal(value, value))
        inside = [test for i, each in zip(own, found, strict=True) for test in _within(i, each)]
        flat = n * data.shape[1] + c
        order = list(zip(own, data.shape[2:], strict=True))
        inner: Expr = te.const(0, INDEX)
        for i, extent in reversed(order) if columns_first else order:
            inner = inner * extent + i
        flat = flat * prod(data.shape[2:]) + inner
        none = te.const(INDEX.high, INDEX)
        position = te.select(greatest_here, flat, none)
        return te.min(te.select(te.all_of(*inside), position, none) if inside else position, over)

    shape = (*data.shape[:2], *(each.count for each in found))
    return compute(shape, element, name, ("n", "c", *names))


def _within(i: Expr, window: Window) -> list[Expr]:
    """The conditions under which a position, counted from the first element, is an element."""
    low = [i >= 0] if window.before else []
    return [*low, i < window.extent] if window.after + window.overhang else low


def global_average_pool(data: Tensor, *, name: str = "global_average_pool") -> Tensor:
    """The mean over all spatial axes, kept with extent 1. Stages: `{name}_sum`, `name`."""
    return reduce_mean(data, _spatial("global_average_pool", name, data), name=name)


def global_max_pool(data: Tensor, *, name: str = "global_max_pool") -> Tensor:
    """The maximum over all spatial axes, kept with extent 1."""
    return reduce_max(data, _spatial("global_max_pool", name, data), name=name)


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
