"""How much there is to multiply."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from compiler.ir.expr import Binary, BinaryOp, Cast
from compiler.te import Tensor
from compiler.te.build import stages
from compiler.te.tensor import Combiner

__all__ = ["macs_of"]


def macs_of(outputs: Sequence[Tensor]) -> int:
    """Multiply-accumulates of tensor expressions: the terms of all sums of products."""
    total = 0
    for stage in stages(outputs):
        source = stage.source
        if source is None or source.combiner is not Combiner.SUM:
            continue
        term = source.value
        while isinstance(term, Cast):
            term = term.operand
        if isinstance(term, Binary) and term.op is BinaryOp.MUL:
            total += prod(stage.shape) * prod(each.extent for each in source.reduce_axes)
    return total
