"""Slices, splits and concatenation of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from tandem.compiler import te
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.checks import axis_of, check_count, refuse, show
from tandem.compiler.te import Tensor, compute


def slice_of(
    data: Tensor,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    *,
    name: str = "slice",
) -> Tensor:
    """`data[start:end:step]` along each of `axes`, by default the first axes.

    A slice without elements is an empty tensor.

    Raises
    ------
    TensorError
        Lists differ in length; an axis is out of range or given twice; a step is 0.
    """
    along = list(range(len(starts))) if axes is None else list(axes)
    strides = [1] * len(starts) if steps is None else list(steps)
    for what, values in (("ends", ends), ("axes", along), ("steps", strides)):
        check_count("slice", name, what, values, len(starts))
    if 0 in strides:
        refuse("slice", name, f"steps {strides} has a 0")
    ranges = [range(extent) for extent in data.shape]
    taken: set[int] = set()
    for axis, start, end, step in zip(along, starts, ends, strides, strict=True):
        number = axis_of("slice", name, data, axis)
        if number in taken:
            refuse("slice", name, f"axes {along} of {show(data)} name one axis twice")
        taken.add(number)
        ranges[number] = elements(data.shape[number], start, end, step)

    def element(*indices: Expr) -> Expr:
        return data[tuple(_place(i, each) for i, each in zip(indices, ranges, strict=True))]

    return compute([len(each) for each in ranges], element, name)


def split(
    data: Tensor, sizes: Sequence[int], axis: int = 0, *, name: str = "split"
) -> tuple[Tensor, ...]:
    """Parts of extents `sizes` along `axis`, named `{name}_0`, `{name}_1` and so on.

    Raises
    ------
    TensorError
        The axis is out of range, or `sizes` do not add up to its extent.
    """
    along = axis_of("split", name, data, axis)
    if any(each < 0 for each in sizes) or sum(sizes) != data.shape[along]:
        refuse(
            "split",
            name,
            f"sizes {list(sizes)} do not add up to {data.shape[along]}, axis {along} of "
            f"{show(data)}",
        )
    edges = pairwise(accumulate(sizes, initial=0))
    return tuple(
        slice_of(data, [start], [end], [along], name=f"{name}_{number}")
        for number, (start, end) in enumerate(edges)
    )


def elements(extent: int, start: int, end: int, step: int) -> range:
    """The indices that a slice selects from an axis, by ONNX's rule.

    Negative numbers count from the end; then `start` is clipped to the axis, and `end` to one index
    beyond it. (Unlike in Python, a backward slice that starts before the first element starts at
    that element.)
    """
    if extent == 0:
        return range(0)
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    first = min(max(start + extent if start < 0 else start, 0), high)
    last = min(max(end + extent if end < 0 else end, low), high)
    return range(first, last, step)


def _place(i: Expr, elements: range) -> Expr:
    scaled = i if elements.step == 1 else i * elements.step
    return scaled + elements.start if elements.start else scaled


def concat(tensors: Sequence[Tensor], axis: int, *, name: str = "concat") -> Tensor:
    """The concatenation of tensors along `axis`.

    Raises
    ------
    TensorError
        There are no tensors; types, or extents of other axes, differ; the axis is out of range.
    """
    if not tensors:
        refuse("concat", name, "there is no tensor")
    first = tensors[0]
    along = axis_of("concat", name, first, axis)
    beside = (len(first.shape), first.shape[:along], first.shape[along + 1 :], first.dtype)
    for tensor in tensors:
        shape = tensor.shape
        if (len(shape), shape[:along], shape[along + 1 :], tensor.dtype) != beside:
            refuse("concat", name, f"{show(tensor)} and {show(first)} differ beside axis {along}")
    # Empty tensors are never selected.
    filled = [each for each in tensors if each.shape[along]] or [first]
    *starts, total = accumulate((each.shape[along] for each in filled), initial=0)
    parts = list(zip(starts, filled, strict=True))

    def element(*indices: Expr) -> Expr:
        return _chosen(parts, along, indices)

    return compute((*first.shape[:along], total, *first.shape[along + 1 :]), element, name)


def _chosen(parts: Sequence[tuple[int, Tensor]], axis: int, indices: tuple[Expr, ...]) -> Expr:
    """The element at `indices`, from the part that contains it, found by binary search."""
    if len(parts) == 1:
        start, tensor = parts[0]
        own = indices[axis] - start if start else indices[axis]
        return tensor[(*indices[:axis], own, *indices[axis + 1 :])]
    half = len(parts) // 2
    return te.select(
        indices[axis] < parts[half][0],
        _chosen(parts[:half], axis, indices),
        _chosen(parts[half:], axis, indices),
    )
