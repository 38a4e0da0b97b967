"""The positions of the true elements of a mask."""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INDEX, Kind
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.checks import check_kind, refuse, show
from tandem.compiler.operators.cumulative import cumulative_sum
from tandem.compiler.te import Tensor, compute


def true_positions(mask: Tensor, *, name: str = "true_positions") -> Tensor:
    """The positions of the true elements of a mask [n], as int64 [n]: in order, then zeros.

    Stages: `{name}_bits`, `{name}_count` (the number of true elements up to each position, with the
    stages of `cumulative_sum`), then `{name}_below_{step}` for falling powers of two: a binary
    search, by all results at once, for the number of positions before the one that is looked for.
    The work is the extent times its number of bits.

    Raises
    ------
    TensorError
        The mask has other elements than bools, or another number of axes than one.
    """
    check_kind("true_positions", name, mask, Kind.BOOL)
    if len(mask.shape) != 1:
        refuse("true_positions", name, f"{show(mask)} has to have one axis")
    (extent,) = mask.shape
    if extent == 0:
        return compute((0,), lambda _: te.const(0, INDEX), name)
    bits = compute((extent,), lambda at: te.cast(mask[at], INDEX), f"{name}_bits")
    count = cumulative_sum(bits, name=f"{name}_count")
    below: Tensor | None = None
    for bit in reversed(range(extent.bit_length())):
        below = _further(count, below, 1 << bit, f"{name}_below_{1 << bit}")
    assert below is not None, "the extent has a bit"
    found = below
    return compute(
        (extent,), lambda at: te.select(found[at] < extent, found[at], te.const(0, INDEX)), name
    )


def _further(count: Tensor, below: Tensor | None, step: int, name: str) -> Tensor:
    """The search after `step` more positions, if these are all before the one looked for."""
    (extent,) = count.shape

    def element(at: Expr) -> Expr:
        before = te.const(0, INDEX) if below is None else below[at]
        after = before + step
        last = te.minimum(after, extent) - 1
        return te.select(te.all_of(after <= extent, count[last] <= at), after, before)

    return compute((extent,), element, name)
