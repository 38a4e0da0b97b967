"""Strides: the distance in memory between the accesses of successive iterations of an axis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tandem.compiler.ir.byte_tables import looked_up
from tandem.compiler.ir.expr import Binary, Const, Load, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.linear import linear
from tandem.compiler.ir.normal import Normaliser
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.stmt import Block, Store
from tandem.compiler.ir.visit import reads, subexpressions, variables, writes


def accesses(block: Block) -> list[Load | Store]:
    """Every load and store of a block's body but look-ups in tables (`byte_tables`), which any lane
    does anywhere; with indices simplified for the extents of the block's axes: `(16 * o + k) // 16`
    is `o` where `k` is below 16."""
    normal = Normaliser({each.var.name: Interval(0, each.extent - 1) for each in block.iters})
    loads = (each for each in reads(block.body) if looked_up(each) is None)
    found: list[Load | Store] = [*loads, *writes(block.body)]
    return [replace(each, indices=tuple(map(normal.expr, each.indices))) for each in found]


def stride(access: Load | Store, axis: str) -> int | None:
    """The stride of an access along a block's axis, in elements; None if it is not constant."""
    total = 0
    for index, elements in zip(access.indices, access.buffer.strides, strict=True):
        found = linear(index)
        if any(axis in variables(atom) for atom, _ in found.terms if atom != Var(axis)):
            return None
        total += found.factor(Var(axis)) * elements
    return total


def strides(found: Iterable[Load | Store], axis: str) -> set[int | None]:
    """The strides of several accesses."""
    return {stride(each, axis) for each in found}


def row_length(block: Block, axis: str) -> int | None:
    """The number of iterations of an axis within which every index is affine: 7 if indices are
    `axis // 7` and `axis % 7`. None if there is no such number."""
    found = {
        int(expr.right.value)
        for access in accesses(block)
        for index in access.indices
        for expr in subexpressions(index)
        if isinstance(expr, Binary)
        and expr.op in (BinaryOp.FLOORDIV, BinaryOp.MOD)
        and expr.left == Var(axis)
        and isinstance(expr.right, Const)
    }
    row = min(found, default=0)
    return row if row > 0 and all(each % row == 0 for each in found) else None
