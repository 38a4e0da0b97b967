"""The passes that lower a schedule's program to plain loops, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tandem.compiler.errors import IRError
from tandem.compiler.ir.simplify import simplify_function
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.ir.verify import verify
from tandem.compiler.lower.compact_buffers import CompactBuffers
from tandem.compiler.lower.hoist_conditions import HoistConditions
from tandem.compiler.lower.hoist_reduction_init import HoistReductionInit
from tandem.compiler.lower.lower_blocks import LowerBlocks
from tandem.compiler.lower.tighten_loops import TightenLoops


class LoopPass(Protocol):
    """A frozen value with options as fields, which maps a legal program to a legal program."""

    @property
    def name(self) -> str:
        """The pass's name in error messages."""

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program after the pass."""


@dataclass(frozen=True, slots=True)
class Simplify:
    """Puts every expression in normal form, and drops conditions that always or never hold."""

    name: str = "simplify"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The simplified program."""
        return simplify_function(function)


LOOP_PASSES: tuple[LoopPass, ...] = (
    LowerBlocks(),
    Simplify(),
    CompactBuffers(),
    HoistConditions(),
    HoistReductionInit(),
    HoistConditions(),
    TightenLoops(),
    Simplify(),
)
"""The passes to plain loops. Conditions are hoisted twice, because a condition next to
a reduction initialiser can move once the initialiser is gone."""


def lower(function: PrimFunc, passes: Sequence[LoopPass] = LOOP_PASSES) -> PrimFunc:
    """The program after all `passes`, verified before the first and after each.

    Raises
    ------
    IRError
        If a program is not legal; the message names the pass that made the program.
    """
    verify(function)
    for step in passes:
        function = step.apply(function)
        try:
            verify(function)
        except IRError as error:
            raise IRError(f"after {step.name}: {error}") from error
    return function
