"""Lowering: passes from a schedule's program to one that a back end takes."""

from compiler.lower.lowering import CPU_PASSES, Pass, lower

__all__ = ["CPU_PASSES", "Pass", "lower"]
