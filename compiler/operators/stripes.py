"""Reductions of long rows of floats in stripes: several results, which are combined at the end.

An addition of floats waits for the one before it, and its result depends on the order. The order is
therefore part of an operator's meaning, the same for all processors: element k of a row belongs to
stripe k % STRIPES, vectors hold the stripes, and halves of them are added until one is left.

    {name}_stripes[i, s]    = sum over k of term[i, k * STRIPES + s]
    {name}_8[i, s]          = {name}_stripes[i, s] + {name}_stripes[i, s + 8], then _4 and _2
    {name}_whole[i]         = {name}_2[i, 0] + {name}_2[i, 1]
    {name}_rest[i]          = sum of the terms after the last whole row of stripes
    {name}[i]               = {name}_whole[i] + {name}_rest[i]

Without such a rest, `{name}_whole` is `{name}`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from tandem.compiler.ir.expr import Binary, Expr
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import ReduceAxis, Reduction

Combine = Callable[[Expr, Sequence[ReduceAxis]], Reduction]

STRIPES: Final = 16
"""Registers of 512 bits hold so many float32."""
_LEAST: Final = 2
"""The least number of terms of a stripe: shorter rows are reduced in their order."""


def is_striped(shape: Sequence[int], axes: Collection[int], term: Expr) -> bool:
    """Whether the reduction of `term` along axes of `shape` is one in stripes."""
    last = len(shape) - 1
    return last in axes and term.dtype.is_float and shape[last] >= _LEAST * STRIPES


def striped(
    shape: Sequence[int],
    over: Mapping[int, ReduceAxis],
    kept: Sequence[int],
    combine: Combine,
    term: Callable[[tuple[Expr, ...]], Expr],
    name: str,
) -> Tensor:
    """The reduction by `combine` of `term` along axes of `shape`, in stripes along the last one.

    Parameters
    ----------
    over
        The reduced axes by number, the last one among them.
    kept
        The axes of the result by number; those that are reduced have extent 1.
    """
    last = len(shape) - 1
    own = [1 if axis in over else shape[axis] for axis in kept]
    names = [f"i{axis}" for axis in kept]
    whole, rest = divmod(shape[last], STRIPES)
    outer = {axis: value for axis, value in over.items() if axis != last}

    def reduction(indices: Sequence[Expr], inner: ReduceAxis, position: Expr) -> Reduction:
        found: dict[int, Expr] = {**dict(zip(kept, indices, strict=True)), **outer, last: position}
        value = term(tuple(found[axis] for axis in range(len(shape))))
        return combine(value, (*outer.values(), inner))

    def stripe(*indices: Expr) -> Reduction:
        k = reduce_axis(whole, f"k{last}")
        return reduction(indices[:-1], k, k * STRIPES + indices[-1])

    def remainder(*indices: Expr) -> Reduction:
        k = reduce_axis(rest, f"k{last}")
        return reduction(indices, k, k + whole * STRIPES)

    stripes = compute((*own, STRIPES), stripe, f"{name}_stripes", [*names, "s"])
    assert stripes.source is not None
    assert stripes.source.combiner is not None, "a reduction"
    operation = stripes.source.combiner.value
    joined = _joined(stripes, operation, f"{name}_whole" if rest else name, name)
    if not rest:
        return joined
    left = compute(own, remainder, f"{name}_rest", names)
    return compute(own, lambda *i: Binary(operation, joined[i], left[i]), name, names)


def _joined(stripes: Tensor, operation: BinaryOp, name: str, prefix: str) -> Tensor:
    """The stripes in one, called `name`: those of the second half are added to the first until one
    is left."""
    *own, width = stripes.shape
    assert stripes.source is not None
    axes = [axis.name for axis in stripes.source.axes]
    found = stripes
    while (width := width // 2) > 1:
        found = _halved(found, operation, (*own, width), f"{prefix}_{width}", axes)
    return compute(
        own, lambda *i: Binary(operation, found[(*i, 0)], found[(*i, 1)]), name, axes[:-1]
    )


def _halved(
    given: Tensor, operation: BinaryOp, shape: Sequence[int], name: str, axes: Sequence[str]
) -> Tensor:
    def element(*indices: Expr) -> Expr:
        *outer, s = indices
        return Binary(operation, given[(*outer, s)], given[(*outer, s + shape[-1])])

    return compute(shape, element, name, axes)
