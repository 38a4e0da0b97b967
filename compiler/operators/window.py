"""Sliding windows of convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.checks import check_minimum, refuse, show
from tandem.compiler.operators.pad import pad
from tandem.compiler.te import Tensor

SPATIAL = {1: ("x",), 2: ("y", "x"), 3: ("z", "y", "x")}
"""Names of the spatial axes, by the number of spatial axes."""


@dataclass(frozen=True)
class Window:
    """The windows along one axis of a convolution or pooling.

    Attributes
    ----------
    extent
        The number of elements along the axis.
    kernel
        The number of elements in a window, `dilation` apart.
    stride
        The distance from one window to the next.
    before, after
        The number of elements of padding at the start and end of the axis.
    count
        The number of windows.
    """

    extent: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    count: int

    def place(self, i: Expr, k: Expr) -> Expr:
        """The position of element `k` of window `i`, counted from the first element of padding."""
        start = i if self.stride == 1 else i * self.stride
        return start + (k if self.dilation == 1 else k * self.dilation)

    @property
    def overhang(self) -> int:
        """The number of elements by which the last window exceeds the padding."""
        last = (self.count - 1) * self.stride + (self.kernel - 1) * self.dilation + 1
        return max(0, last - (self.before + self.extent + self.after))


class Slides(TypedDict, total=False):
    """How windows slide over an image: the arguments of `windows` that have defaults."""

    strides: Sequence[int] | None
    padding: Sequence[int] | None
    dilation: Sequence[int] | None
    ceil_mode: bool


def windows(
    operator: str,
    name: str,
    data: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> tuple[Window, ...]:
    """A `Window` for each spatial axis.

    Parameters
    ----------
    strides, dilation
        1 by default.
    padding
        Before each spatial axis, then after each; 0 by default.
    ceil_mode
        Whether a last window that begins before the trailing padding may exceed the padding.
    """
    rank = len(data.shape) - 2
    ones = (1,) * len(kernel)
    strides, dilation = (ones if each is None else each for each in (strides, dilation))
    padding = (0, 0) * len(kernel) if padding is None else padding
    if rank not in SPATIAL:
        refuse(operator, name, f"{show(data)} has to have 3, 4 or 5 dimensions, N, C and spatial")
    for what, values, count, least in (
        ("kernel", kernel, rank, 1),
        ("strides", strides, rank, 1),
        ("dilation", dilation, rank, 1),
        ("padding", padding, 2 * rank, 0),
    ):
        check_minimum(operator, name, what, values, count, least)
    found = []
    for axis, extent in enumerate(data.shape[2:]):
        before, after, stride = padding[axis], padding[rank + axis], strides[axis]
        reach = dilation[axis] * (kernel[axis] - 1) + 1
        slack = before + extent + after - reach
        if slack < 0:
            refuse(
                operator,
                name,
                f"axis {axis + 2} of {show(data)} with padding {before} and {after} has "
                f"{before + extent + after} elements, and the window needs {reach}",
            )
        count = slack // stride + 1
        if ceil_mode and slack % stride and count * stride < before + extent:
            count += 1
        found.append(Window(extent, kernel[axis], stride, dilation[axis], before, after, count))
    return tuple(found)


def padded(data: Tensor, slides: Sequence[Window], name: str, value: float = 0) -> Tensor:
    """`data` padded with `value` to all positions that windows cover; `data` itself if there is no
    padding."""
    before = [each.before for each in slides]
    after = [each.after + each.overhang for each in slides]
    if not any(before) and not any(after):
        return data
    return pad(data, (0, 0, *before, 0, 0, *after), value=value, name=name)


def check_windows(operator: str, name: str, data: Tensor, slides: Sequence[Window]) -> None:
    """Check that every window covers an element that is not padding."""
    for axis, window in enumerate(slides):
        # A window that begins inside the data covers its first element: only windows that begin
        # before or after are checked. Windows before repeat with a period of `dilation` windows.
        outside = -(-window.before // window.stride)
        beyond = -(-(window.before + window.extent) // window.stride)
        last = min(outside, window.dilation, window.count)
        for number in (*range(last), *range(beyond, min(beyond + 1, window.count))):
            start = number * window.stride - window.before
            skipped = max(-(start // window.dilation), 0)
            position = start + skipped * window.dilation
            if skipped >= window.kernel or position >= window.extent:
                refuse(
                    operator,
                    name,
                    f"window {number} on axis {axis + 2} of {show(data)} holds only padding",
                )
