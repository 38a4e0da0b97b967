"""What follows a sum of products."""

from __future__ import annotations

from compiler.ir.expr import Expr
from compiler.operators.checks import refuse, show
from compiler.te import Tensor, compute

__all__ = ["add_bias"]


def add_bias(operator: str, name: str, sums: Tensor, bias: Tensor, axis: int) -> Tensor:
    """`sums` plus a number for each index of one axis, called `name`."""
    extent = sums.shape[axis]
    if bias.shape != (extent,) or bias.dtype != sums.dtype:
        refuse(operator, name, f"bias {show(bias)} has to be {sums.dtype}[{extent}]")

    def element(*indices: Expr) -> Expr:
        return sums[indices] + bias[indices[axis]]

    axes = [each.name for each in sums.source.axes] if sums.source else None
    return compute(sums.shape, element, name, axes)
