"""Tensors one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from compiler import te
from compiler.ir.expr import Expr
from compiler.operators.checks import axis_of, refuse, show
from compiler.te import Tensor, compute

__all__ = ["concat"]


def concat(tensors: Sequence[Tensor], axis: int, *, name: str = "concat") -> Tensor:
    """The tensors one after the other along `axis`.

    Raises
    ------
    TensorError
        None at all; types or other extents that differ; no such axis.
    """
    if not tensors:
        refuse("concat", name, "there is no tensor")
    first = tensors[0]
    along = axis_of("concat", name, first, axis)
    for each in tensors:
        same = [*each.shape[:along], *each.shape[along + 1 :]]
        if (
            len(each.shape) != len(first.shape)
            or same != [*first.shape[:along], *first.shape[along + 1 :]]
            or each.dtype != first.dtype
        ):
            refuse("concat", name, f"{show(each)} and {show(first)} differ beside axis {along}")
    # Those that are empty would be never chosen.
    filled = [each for each in tensors if each.shape[along]] or [first]
    *starts, total = accumulate((each.shape[along] for each in filled), initial=0)
    parts = list(zip(starts, filled, strict=True))

    def element(*indices: Expr) -> Expr:
        return _chosen(parts, along, indices)

    return compute((*first.shape[:along], total, *first.shape[along + 1 :]), element, name)


def _chosen(parts: Sequence[tuple[int, Tensor]], axis: int, indices: tuple[Expr, ...]) -> Expr:
    """The element of the part that holds it, found by halves."""
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
