"""Padding, by a value, an edge or a mirror."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from compiler import te
from compiler.errors import IRError
from compiler.ir.expr import Expr
from compiler.operators.checks import check_count, refuse, show
from compiler.te import Tensor, compute

__all__ = ["PadMode", "inside", "pad"]


class PadMode(Enum):
    """What padding holds; the values are ONNX's names."""

    CONSTANT = "constant"
    REFLECT = "reflect"
    """The tensor mirrored at its first and last element, which do not come twice."""
    EDGE = "edge"
    """The nearest element."""
    WRAP = "wrap"
    """The tensor again and again."""


def pad(
    data: Tensor,
    pads: Sequence[int],
    *,
    mode: PadMode = PadMode.CONSTANT,
    value: int | float | bool = 0,
    name: str = "pad",
) -> Tensor:
    """`data` with `pads` more elements: before each axis, then after each axis.

    A negative number cuts elements off, before the rest is padded.

    Raises
    ------
    TensorError
        Not two numbers an axis; more cut off than there is; nothing to repeat on an empty axis; a
        value that the type does not hold.
    """
    rank = len(data.shape)
    check_count("pad", name, "pads", pads, 2 * rank)
    axes = [_Axis(n, pads[i], pads[rank + i]) for i, n in enumerate(data.shape)]
    for number, axis in enumerate(axes):
        if axis.kept < 0:
            refuse("pad", name, f"{list(pads)} cuts more off axis {number} than {show(data)} has")
        if mode is not PadMode.CONSTANT and axis.kept == 0 and axis.result:
            refuse("pad", name, f"axis {number} of {show(data)} is empty: nothing to {mode.value}")
    try:
        filler = te.const(value, data.dtype)
    except IRError as error:
        refuse("pad", name, f"{show(data)} is padded with {value!r}: {error}")

    def element(*indices: Expr) -> Expr:
        own = tuple(a.source(i, mode) for a, i in zip(axes, indices, strict=True))
        if mode is not PadMode.CONSTANT:
            return data[own]
        within = [
            c
            for a, i in zip(axes, indices, strict=True)
            for c in inside(i, a.before, a.kept, a.after)
        ]
        return te.select(te.all_of(*within), data[own], filler) if within else data[own]

    return compute([each.result for each in axes], element, name)


def inside(i: Expr, before: int, kept: int, after: int) -> list[Expr]:
    """When `i` is no padding, of which so much is before and after what is kept."""
    low = [i >= before] if before else []
    return [*low, i < before + kept] if after else low


class _Axis:
    """How one axis is padded.

    Attributes
    ----------
    kept
        Elements that are not cut off, the first of them at `first`.
    result
        Elements of the result.
    """

    def __init__(self, extent: int, before: int, after: int) -> None:
        self.first = max(0, -before)
        self.kept = extent - self.first - max(0, -after)
        self.before = max(0, before)
        self.after = max(0, after)
        self.result = self.before + self.kept + self.after

    def source(self, i: Expr, mode: PadMode) -> Expr:
        """Where in `data` the element `i` comes from."""
        place = i - self.before if self.before else i
        if (self.before or self.after) and self.kept:
            match mode:
                case PadMode.CONSTANT:
                    pass
                case PadMode.EDGE:
                    place = te.minimum(te.maximum(place, 0), self.kept - 1)
                case PadMode.WRAP:
                    place = place % self.kept
                case PadMode.REFLECT:
                    # There and back again; a single element is its own mirror.
                    period = max(1, 2 * (self.kept - 1))
                    place = place % period
                    place = te.minimum(place, period - place)
        return place + self.first if self.first else place
