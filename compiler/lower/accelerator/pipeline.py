"""What the accelerator's back end does with a program, in order."""

from __future__ import annotations

from compiler.lower.accelerator.share import ShareAccumulators
from compiler.lower.accelerator.virtual_threads import InterleaveThreads
from compiler.lower.pipeline import CPU_PASSES, Pass
from compiler.lower.simplification import Simplify
from compiler.target import AcceleratorTarget

__all__ = ["accelerator_passes"]


def accelerator_passes(target: AcceleratorTarget) -> tuple[Pass, ...]:
    """Blocks become loops, as for the CPU; then loops become those of instructions."""
    return (*CPU_PASSES, ShareAccumulators(target), InterleaveThreads(), Simplify())
