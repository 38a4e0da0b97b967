"""Lowering: passes from a schedule's program to one that a back end takes."""

from compiler.lower.hoist import HoistConditions
from compiler.lower.lift_starts import LiftStarts
from compiler.lower.lower_blocks import LowerBlocks
from compiler.lower.pipeline import CPU_PASSES, Pass, lower
from compiler.lower.simplification import Simplify
from compiler.lower.tighten import TightenLoops

__all__ = [
    "CPU_PASSES",
    "HoistConditions",
    "LiftStarts",
    "LowerBlocks",
    "Pass",
    "Simplify",
    "TightenLoops",
    "lower",
]
