"""The conditions of a stage that say which of its points there are, and have to stay when it gets
new loops."""

from __future__ import annotations

from collections.abc import Set
from fractions import Fraction

from tandem.compiler.ir.expr import Binary, Expr, Var
from tandem.compiler.ir.linear import linear
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import index
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import Block
from tandem.compiler.ir.visit import variables


class LostConditionError(Exception):
    """A condition that cannot be stated of a stage's axes; its text."""


def own_conditions(block: Block, loops: Set[str]) -> tuple[Expr, ...]:
    """The conditions on a stage's own loops that follow neither from its axes' extents nor from
    how these are split: which terms of a partial result there are. Each loop in them is an axis.

    Raises
    ------
    LostConditionError
        One is of loops that are parts of an axis, or of several.
    """
    bounds, kept = bounds_of_axes(block), []
    plain = {axis.value.name for axis in block.iters if isinstance(axis.value, Var)}
    for test in block.guard:
        own = variables(test) & loops
        if not own or canonical(test) in bounds:
            continue
        if own <= plain:
            kept.append(test)
        elif not _is_of_a_split(block, test, loops):
            raise LostConditionError(text(test))
    return tuple(kept)


def bounds_of_axes(block: Block) -> set[object]:
    """Keys of the conditions that a block's axes are within their extents."""
    return {
        canonical(test)
        for axis in block.iters
        for test in (index(0) <= axis.value, axis.value < axis.extent)
    }


def canonical(test: Expr) -> object:
    """A key of a condition: comparisons of equal sums have equal keys."""
    match test:
        case Binary(op=BinaryOp.LT | BinaryOp.LE as op, left=left, right=right):
            return op, linear(left - right)
        case _:
            return test


def _is_of_a_split(block: Block, test: Expr, loops: Set[str]) -> bool:
    """Whether a condition is that of a split loop of one axis, which lets no point be computed
    twice, and none of the axis itself."""
    own = variables(test) & loops
    axes = [axis for axis in block.iters if variables(axis.value) & own]
    if len(axes) != 1 or not isinstance(test, Binary):
        return False
    tested = _factors(test.left - test.right, loops)
    value = _factors(axes[0].value, loops)
    if tested.keys() != value.keys():
        return True
    return len({Fraction(tested[atom], value[atom]) for atom in tested}) > 1


def _factors(expr: Expr, loops: Set[str]) -> dict[Expr, int]:
    """The terms of a sum that depend on the loops."""
    return {atom: factor for atom, factor in linear(expr).terms if variables(atom) & loops}
