"""Commands that nobody needs go; resets wait until they are needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.lower.accelerator.commands import Command, Compute, Copy
from compiler.lower.accelerator.footprints import Footprints
from hw.memories import MemoryId

__all__ = ["drop_unused_loads", "late_resets"]

_DATA = (MemoryId.INP, MemoryId.WGT, MemoryId.ACC)


def drop_unused_loads(commands: Sequence[Command], footprints: Footprints) -> list[Command]:
    """Without loads of which nothing is read before it is overwritten, or ever.

    Such a load is there for a virtual thread that has no work in the last turn of a loop.
    """
    live = {each: np.zeros(footprints.config.depth(each), dtype=np.bool_) for each in _DATA}
    kept: list[Command] = []
    for command in reversed(commands):
        touched = footprints.of(command)
        loads = isinstance(command, Copy) and bool(touched.writes)
        if loads and not any(live[memory][where].any() for memory, where in touched.writes):
            continue
        for memory, where in touched.writes:
            live[memory][where] = touched.keeps
        for memory, where in touched.reads:
            live[memory][where] = True
        kept.append(command)
    return kept[::-1]


def late_resets(commands: Sequence[Command], footprints: Footprints) -> list[Command]:
    """With each reset just before the first command that touches the same accumulators.

    Resetting needs the accumulators' last results to be stored; meanwhile other virtual threads
    can compute.
    """
    result: list[Command] = []
    waiting: list[tuple[Command, np.ndarray]] = []
    depth = footprints.config.depth(MemoryId.ACC)
    for command in commands:
        touched = footprints.of(command)
        parts = [
            where for memory, where in (*touched.reads, *touched.writes) if memory is MemoryId.ACC
        ]
        later = []
        for each in waiting:
            if any(each[1][where].any() for where in parts):
                result.append(each[0])
            else:
                later.append(each)
        waiting = later
        if isinstance(command, Compute) and command.reset:
            used = np.zeros(depth, dtype=np.bool_)
            for where in parts:
                used[where] = True
            waiting.append((command, used))
        else:
            result.append(command)
    return result + [each for each, _ in waiting]
