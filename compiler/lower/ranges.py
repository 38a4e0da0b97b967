"""Ranges of the values of loop variables."""

from __future__ import annotations

from tandem.compiler.ir.expr import Const
from tandem.compiler.ir.interval import Ranges, interval
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.stmt import For, Stmt
from tandem.compiler.ir.visit import loops


def loop_range(loop: For, ranges: Ranges) -> Interval:
    """The range of a loop's variable within the loop's body."""
    if isinstance(loop.extent, Const):
        return Interval(0, int(loop.extent.value) - 1)
    most = interval(loop.extent, ranges).high
    return Interval(0, None if most is None else most - 1)


def all_ranges(stmt: Stmt) -> dict[str, Interval]:
    """The range of every loop variable in a statement, by name (names are unique)."""
    found: dict[str, Interval] = {}
    for loop in loops(stmt):
        found[loop.var.name] = loop_range(loop, found)
    return found
