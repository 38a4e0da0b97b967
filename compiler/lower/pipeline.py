"""Passes in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from compiler.errors import IRError
from compiler.ir.stmt import Function
from compiler.ir.verify import verify
from compiler.lower.compact import CompactBuffers
from compiler.lower.hoist import HoistConditions
from compiler.lower.lift_starts import LiftStarts
from compiler.lower.lower_blocks import LowerBlocks
from compiler.lower.simplification import Simplify
from compiler.lower.tighten import TightenLoops

__all__ = ["CPU_PASSES", "Pass", "lower"]


class Pass(Protocol):
    """A frozen value: options as fields. A legal program in, a legal program out."""

    @property
    def name(self) -> str:
        """As it is written on a command line."""

    def apply(self, function: Function) -> Function:
        """The program, changed."""


CPU_PASSES: tuple[Pass, ...] = (
    LowerBlocks(),
    Simplify(),
    CompactBuffers(),
    HoistConditions(),
    LiftStarts(),
    HoistConditions(),
    TightenLoops(),
    Simplify(),
)
"""What the CPU's back end wants done. Starts move past statements that a condition of their own no
longer surrounds, and leave conditions behind that can move in turn."""


def lower(function: Function, passes: Sequence[Pass] = CPU_PASSES) -> Function:
    """The program after all `passes`, verified before the first and after each.

    Raises
    ------
    IRError
        If a program is not legal; names the pass that made it.
    """
    verify(function)
    for each in passes:
        function = each.apply(function)
        try:
            verify(function)
        except IRError as error:
            raise IRError(f"after {each.name}: {error}") from error
    return function
