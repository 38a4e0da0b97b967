"""Sampling of images at positions between their elements."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import assert_never

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import FLOATS
from tandem.compiler.operators.checks import check_kind, refuse, show
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import Reduction


class SampleMode(Enum):
    """How a sample depends on the elements around its position."""

    NEAREST = "nearest"
    """The nearest element; of two, the one with the even index."""
    LINEAR = "linear"
    CUBIC = "cubic"
    """The cubic convolution of Keys (1981) with a parameter of -0.75."""


class Border(Enum):
    """What lies outside an image."""

    ZEROS = "zeros"
    BORDER = "border"
    """The elements at the border."""
    REFLECTION = "reflection"
    """The image, reflected at its corners' centres."""
    REFLECTION_AT_EDGES = "reflection_at_edges"
    """The image, reflected half an element outside its corners' centres."""


_TAPS = {SampleMode.NEAREST: 1, SampleMode.LINEAR: 2, SampleMode.CUBIC: 4}
_CUBIC = -0.75


def sample(
    data: Tensor,
    positions: Tensor,
    mode: SampleMode = SampleMode.LINEAR,
    border: Border = Border.ZEROS,
    *,
    name: str = "sample",
) -> Tensor:
    """Samples of images: `name[n, c, ...]` at `positions[n, ..., :]`.

    Stages: `{name}_index` and `{name}_weight` [N, spatial axes, taps, ...], `name`.

    Parameters
    ----------
    data
        [N, C, spatial...] of floats, one to three spatial axes.
    positions
        [N, ..., spatial axes] of the same type: an index, with a fraction, along each spatial axis.

    Raises
    ------
    TensorError
        Shapes or types do not fit; an image has no elements.
    """
    check_kind("sample", name, data, *FLOATS)
    spatial = data.shape[2:]
    fits = positions.shape[:1] == data.shape[:1] and positions.shape[-1:] == (len(spatial),)
    if not 1 <= len(spatial) <= 3 or not fits or positions.dtype != data.dtype or 0 in spatial:
        refuse("sample", name, f"{show(positions)} for {show(data)}")
    taps, outer = _TAPS[mode], positions.shape[1:-1]
    shape = (data.shape[0], len(spatial), taps, *outer)

    def index(n: Expr, axis: Expr, tap: Expr, *places: Expr) -> Expr:
        first = _first(positions[(n, *places, axis)], mode)
        found = [_bordered(first + tap, extent, border) for extent in spatial]
        return _by_axis(axis, found)

    def weight(n: Expr, axis: Expr, tap: Expr, *places: Expr) -> Expr:
        return _weight(positions[(n, *places, axis)], tap, mode)

    names = ["n", "axis", "tap", *(f"o{number}" for number in range(len(outer)))]
    indices = compute(shape, index, f"{name}_index", names)
    weights = compute(shape, weight, f"{name}_weight", names)
    over = [reduce_axis(taps, f"k{number}") for number in range(len(spatial))]

    def element(n: Expr, c: Expr, *places: Expr) -> Reduction:
        at = [indices[(n, axis, tap, *places)] for axis, tap in enumerate(over)]
        value = data[(n, c, *(te.maximum(each, 0) for each in at))]
        if border is Border.ZEROS:
            zero = te.const(0.0, data.dtype)
            value = te.select(te.all_of(*(each >= 0 for each in at)), value, zero)
        for axis, tap in enumerate(over):
            value = value * weights[(n, axis, tap, *places)]
        return te.sum(value, over)

    return compute((*data.shape[:2], *outer), element, name, ["n", "c", *names[3:]])


def _by_axis(axis: Expr, found: Sequence[Expr]) -> Expr:
    """The expression for the number of a spatial axis."""
    result = found[-1]
    for number in reversed(range(len(found) - 1)):
        result = te.select(te.equal(axis, number), found[number], result)
    return result


def _first(position: Expr, mode: SampleMode) -> Expr:
    """The index of the first element that a sample depends on."""
    match mode:
        case SampleMode.NEAREST:
            return te.cast(te.round(position), INDEX)
        case SampleMode.LINEAR:
            return te.cast(te.floor(position), INDEX)
        case SampleMode.CUBIC:
            return te.cast(te.floor(position), INDEX) - 1
        case _:
            assert_never(mode)


def _weight(position: Expr, tap: Expr, mode: SampleMode) -> Expr:
    if mode is SampleMode.NEAREST:
        return te.const(1.0, position.dtype)
    part = position - te.floor(position)
    if mode is SampleMode.LINEAR:
        return te.select(te.equal(tap, 0), 1.0 - part, part)
    # The distance to an element: taps -1, 0, 1 and 2.
    far = te.abs(te.cast(tap - 1, position.dtype) - part)
    a = _CUBIC
    near = ((a + 2.0) * far - (a + 3.0)) * far * far + 1.0
    beyond = ((a * far - 5.0 * a) * far + 8.0 * a) * far - 4.0 * a
    return te.select(far <= 1.0, near, beyond)


def _bordered(index: Expr, extent: int, border: Border) -> Expr:
    """The index of the element that stands for one outside; -1 where there is none."""
    match border:
        case Border.ZEROS:
            return te.select(te.all_of(index >= 0, index < extent), index, te.const(-1, INDEX))
        case Border.BORDER:
            return te.minimum(te.maximum(index, 0), extent - 1)
        case Border.REFLECTION:
            period = max(1, 2 * (extent - 1))
            within = index % period
            return te.minimum(within, period - within)
        case Border.REFLECTION_AT_EDGES:
            within = index % (2 * extent)
            return te.minimum(within, 2 * extent - 1 - within)
        case _:
            assert_never(border)
