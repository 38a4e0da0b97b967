"""Lowering: passes from a schedule's program to one that a back end takes."""

from tandem.compiler.lower.lowering import LOOP_PASSES, LoopPass, lower

__all__ = ["LOOP_PASSES", "LoopPass", "lower"]
