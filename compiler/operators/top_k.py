"""The positions of the greatest or least elements along an axis."""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.broadcast import NUMBERS
from tandem.compiler.operators.checks import axis_of, check_kind, refuse, show
from tandem.compiler.te import Tensor, compute, reduce_axis
from tandem.compiler.te.tensor import Reduction


def top_k(
    data: Tensor, k: int, axis: int = -1, largest: bool = True, *, name: str = "top_k"
) -> Tensor:
    """The indices along `axis`, as int64, of the `k` greatest elements, or least, in their order.

    Of equal elements the first comes first. NaN is greater than any number, and equal to NaN.
    Stages: `{name}_rank`, the number of elements that come before each, and `name`. The work is
    the square of the axis' extent.

    Raises
    ------
    TensorError
        The axis is out of range, or has fewer than `k` elements; the elements are bools.
    """
    check_kind("top_k", name, data, *NUMBERS)
    along = axis_of("top_k", name, data, axis)
    extent = data.shape[along]
    if not 0 <= k <= extent:
        refuse("top_k", name, f"axis {along} of {show(data)} has no {k} elements")
    shape = (*data.shape[:along], k, *data.shape[along + 1 :])
    if 0 in shape:
        return compute(shape, lambda *_: te.const(0, INDEX), name)
    other, place = reduce_axis(extent, "k"), reduce_axis(extent, "r")

    def at(places: tuple[Expr, ...], index: Expr) -> tuple[Expr, ...]:
        return (*places[:along], index, *places[along + 1 :])

    def comes_before(a: Expr, b: Expr) -> Expr:
        more, less = (a, b) if largest else (b, a)
        if not data.dtype.is_float:
            return more > less
        return te.any_of(more > less, te.all_of(te.not_equal(more, more), te.equal(less, less)))

    def rank(*places: Expr) -> Reduction:
        own, theirs = data[places], data[at(places, other)]
        tied = te.all_of(
            ~comes_before(own, theirs), ~comes_before(theirs, own), other < places[along]
        )
        before = te.any_of(comes_before(theirs, own), tied)
        return te.sum(te.cast(before, INDEX), other)

    ranks = compute(data.shape, rank, f"{name}_rank")

    def element(*places: Expr) -> Reduction:
        chosen = te.equal(ranks[at(places, place)], places[along])
        return te.sum(te.select(chosen, place, te.const(0, INDEX)), place)

    return compute(shape, element, name)
