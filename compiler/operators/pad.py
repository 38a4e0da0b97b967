"""Padding by a constant, the edge, reflection or repetition."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tandem.compiler import te
from tandem.compiler.errors import IRError
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.checks import check_count, refuse, show
from tandem.compiler.te import Tensor, compute


class PadMode(Enum):
    """The contents of padding; values are ONNX's names."""

    CONSTANT = "constant"
    REFLECT = "reflect"
    """The tensor mirrored at its first and last elements, which are not repeated."""
    EDGE = "edge"
    """The nearest element of the tensor."""
    WRAP = "wrap"
    """The tensor repeated."""


def pad(
    data: Tensor,
    pads: Sequence[int],
    *,
    mode: PadMode = PadMode.CONSTANT,
    value: int | float | bool = 0,
    name: str = "pad",
) -> Tensor:
    """`data` padded by `pads` elements: at the start of each axis, then at the end of each.

    Negative numbers remove elements, before the remaining elements are padded.

    Raises
    ------
    TensorError
        `pads` has not two numbers per axis, or removes more elements than there are; an empty axis
        has no element to repeat; the type does not hold the value.
    """
    rank = len(data.shape)
    check_count("pad", name, "pads", pads, 2 * rank)
    axes = [_PaddedAxis(n, pads[i], pads[rank + i]) for i, n in enumerate(data.shape)]
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
    """The conditions under which index `i` of the result is not in the padding."""
    low = [i >= before] if before else []
    return [*low, i < before + kept] if after else low


class _PaddedAxis:
    """Padding of one axis.

    Attributes
    ----------
    kept
        The number of elements that are not removed, from index `first` on.
    result
        The extent of the result.
    """

    def __init__(self, extent: int, before: int, after: int) -> None:
        self.first = max(0, -before)
        self.kept = extent - self.first - max(0, -after)
        self.before = max(0, before)
        self.after = max(0, after)
        self.result = self.before + self.kept + self.after

    def source(self, i: Expr, mode: PadMode) -> Expr:
        """The index in `data` of element `i` of the result."""
        index = i - self.before if self.before else i
        if (self.before or self.after) and self.kept:
            match mode:
                case PadMode.CONSTANT:
                    pass
                case PadMode.EDGE:
                    index = te.minimum(te.maximum(index, 0), self.kept - 1)
                case PadMode.WRAP:
                    index = index % self.kept
                case PadMode.REFLECT:
                    # The period is the axis and its mirror image, without the repeated ends.
                    period = max(1, 2 * (self.kept - 1))
                    index = index % period
                    index = te.minimum(index, period - index)
        return index + self.first if self.first else index
