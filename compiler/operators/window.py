"""Sliding windows: what convolution and pooling share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir.expr import Expr
from compiler.operators.checks import check_minimum, refuse, show
from compiler.operators.pad import pad
from compiler.te import Tensor

__all__ = ["SPATIAL", "Window", "padded", "sees_data", "windows"]

SPATIAL = {1: ("x",), 2: ("y", "x"), 3: ("z", "y", "x")}
"""The axes' names, by their number."""


@dataclass(frozen=True)
class Window:
    """A window that slides along one axis.

    Attributes
    ----------
    extent
        Elements along the axis.
    kernel
        Elements in the window, `dilation` apart.
    stride
        Elements from one window to the next.
    before, after
        Elements of padding.
    count
        Windows.
    """

    extent: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    count: int

    def place(self, i: Expr, k: Expr) -> Expr:
        """Where element `k` of window `i` lies, counted from the first element of padding."""
        start = i if self.stride == 1 else i * self.stride
        return start + (k if self.dilation == 1 else k * self.dilation)

    @property
    def overhang(self) -> int:
        """Elements by which the last window goes beyond the padding, or 0."""
        last = (self.count - 1) * self.stride + (self.kernel - 1) * self.dilation + 1
        return max(0, last - (self.before + self.extent + self.after))


def windows(
    operator: str,
    name: str,
    data: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool = False,
) -> tuple[Window, ...]:
    """A window for each axis after the second; `padding` is all that lies before, then all after.

    With `ceil_mode` a last window may go beyond the padding, if it begins before the padding that
    comes after.
    """
    rank = len(data.shape) - 2
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
        room = before + extent + after - reach
        if room < 0:
            refuse(
                operator,
                name,
                f"axis {axis + 2} of {show(data)} with padding {before} and {after} has "
                f"{before + extent + after} elements, and the window needs {reach}",
            )
        count = room // stride + 1
        if ceil_mode and room % stride and count * stride < before + extent:
            count += 1
        found.append(Window(extent, kernel[axis], stride, dilation[axis], before, after, count))
    return tuple(found)


def padded(data: Tensor, slides: Sequence[Window], name: str, value: float = 0) -> Tensor:
    """`data` with all that windows cover around it, filled with `value` and called `name`; `data`
    itself where they stay inside."""
    before = [each.before for each in slides]
    after = [each.after + each.overhang for each in slides]
    if not any(before) and not any(after):
        return data
    return pad(data, (0, 0, *before, 0, 0, *after), value=value, name=name)


def sees_data(operator: str, name: str, data: Tensor, slides: Sequence[Window]) -> None:
    """Every window covers an element that is no padding: else there is nothing to pool."""
    for axis, each in enumerate(slides):
        # A window that begins inside sees its first element: look before and after only, and
        # before it, where each element lies is the same every `dilation` windows.
        outside = -(-each.before // each.stride)
        beyond = -(-(each.before + each.extent) // each.stride)
        last = min(outside, each.dilation, each.count)
        for number in (*range(last), *range(beyond, min(beyond + 1, each.count))):
            start = number * each.stride - each.before
            skipped = max(-(start // each.dilation), 0)
            place = start + skipped * each.dilation
            if skipped >= each.kernel or place >= each.extent:
                refuse(
                    operator,
                    name,
                    f"window {number} on axis {axis + 2} of {show(data)} holds only padding",
                )
